// A registry that is a directory: the JSON file of an instance is `<instance id>.json`.
//
// Invariants:
//  1. A reader sees a whole file or none: the content is written to a hidden temporary file,
//     flushed, and renamed into place; then the directory is flushed.
//  2. deregister unlinks, flushes the directory, and confirms by looking again.
//  3. Only files named after our own instance id are ever written or removed. A file of an earlier
//     life has the same name and is replaced. A file of that name that names another pod is not
//     ours and is left alone: that is an error when registering, and confirmed with a note when
//     deregistering.
//
// The work runs on a JobThread: the directory may be on a network file system, and a server
// that hangs must not block the supervisor's loop.
//
// Thread rule: as for every Registry. Source: rename(2), fsync(2); specification, 'Discovery'.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/instance.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

std::unique_ptr<Registry> make_file_registry(boost::asio::any_io_executor executor,
                                             std::string directory, Instance instance);

}  // namespace lastcall::discovery
