// The report of a drain or stop as one line of JSON.
//
// Rules:
//  1. It has at most kLargestReport bytes, because it goes into a termination message of 4096
//     bytes. Free text is cut first (the end of a traceback stays, because it shows what happened),
//     and figures are never cut.
//  2. The file for the termination message is never created: it exists already if Kubernetes wants
//     a message.
//
// Pure except for write_termination_log(); no thread rule.
// Source: Kubernetes, terminationMessagePath.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/report.hpp"

namespace lastcall::runtime {

inline constexpr std::size_t kLargestReport = 4000;

/// Facts that the core does not know.
struct ReportFacts {
  std::vector<std::string> registries;  // by index; registries without a name here are not listed
  /// The shim disconnected without a report of the engine's end.
  bool engine_end_is_unknown = false;
};

std::string report_json(lifecycle::Report const& report, ReportFacts const& facts);

/// The report that a shim completes if it must finish alone a stop that is in this phase: an object
/// of at most ipc::kMaxWillReport bytes, to which it adds the code and the engine's end.
/// `in_flight` is the number at the start of the phase; requests that end later are not subtracted.
std::string will_json(lifecycle::Report const& report, lifecycle::Phase phase,
                      std::size_t in_flight);

/// The value of LASTCALL_TERMINATION_LOG, otherwise /dev/termination-log.
std::string termination_log_path();
/// Returns true if the file existed and now contains the report.
bool write_termination_log(std::string const& path, std::string const& report);

}  // namespace lastcall::runtime
