// From the configuration of a registry to the registry.
//
// Rule: secrets come from files, read when they are needed, or from the environment; never from the
// configuration, which is printed.
//
// Thread rule: the loop's thread. Source: docs/discovery.md.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/instance.hpp"
#include "discovery/registry.hpp"
#include "supervisor/config/schema.hpp"

namespace lastcall::runtime {

/// Null for a kind that is made elsewhere.
std::unique_ptr<discovery::Registry> make_registry(boost::asio::any_io_executor const& executor,
                                                   config::Registry const& registry,
                                                   discovery::Instance const& instance);

}  // namespace lastcall::runtime
