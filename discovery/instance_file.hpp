// The file work of the file registry: blocking, without a loop, one call an instance.
//
// Invariants are the registry's (file_registry.hpp). Each function returns an empty string, or why
// it failed. Thread rule: any thread; two calls for one instance never overlap.
// Source: rename(2), fsync(2), unlink(2).
#pragma once

#include <cstddef>
#include <string>

#include "discovery/instance.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

/// Far more than one has; a longer one is nobody's.
inline constexpr std::size_t kMostOfAnInstanceFile = std::size_t{64} * 1024;

/// `<directory>/<instance id in hex>.json`.
std::string instance_path(std::string const& directory, Instance const& instance);

/// Writes the file; the directory is made if it is missing. `started_at` is RFC 3339 text.
std::string write_instance_file(std::string const& directory, Instance const& instance,
                                std::string const& started_at);

/// Removes the file and looks again; one that is not there, or another pod's, is removed already.
RegistryResult remove_instance_file(std::string const& directory, Instance const& instance);

}  // namespace lastcall::discovery
