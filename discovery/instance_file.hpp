// The file operations of the file registry: blocking, without a loop, one call per instance.
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

/// Far more bytes than an instance file has; the owner of a longer one is not read.
inline constexpr std::size_t kMostOfAnInstanceFile = std::size_t{64} * 1024;

/// `<directory>/<instance id in hex>.json`.
std::string instance_path(std::string const& directory, Instance const& instance);

/// Writes the file, and makes the directory if it is missing. `started_at` is RFC 3339 text.
std::string write_instance_file(std::string const& directory, Instance const& instance,
                                std::string const& started_at);

/// Removes the file and checks that it is gone. A missing file and one of another pod count as
/// removed already.
RegistryResult remove_instance_file(std::string const& directory, Instance const& instance);

}  // namespace lastcall::discovery
