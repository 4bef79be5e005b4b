// The report of a drain or stop as one line of JSON.
//
// Rules:
//  1. At most kLargestReport bytes: it goes into a termination message of 4096. Free text is cut
//     first (the end of a traceback stays, which shows what happened), and figures are never cut.
//  2. A file for the termination message is never created: it exists where Kubernetes wants one.
//
// Pure but for write_termination_log(); no thread rule.
// Source: Kubernetes, terminationMessagePath.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/report.hpp"

namespace lastcall::runtime {

inline constexpr std::size_t kLargestReport = 4000;

/// Facts that are unknown to the core.
struct ReportFacts {
  std::vector<std::string> registries;  // names of the first ones, by index; others are not listed
  /// The shim disconnected without a report of the engine's end.
  bool engine_end_is_unknown = false;
};

std::string report_json(lifecycle::Report const& report, ReportFacts const& facts);

/// The report of a shim that must finish alone, about a stop that is in this phase: an object of at
/// most ipc::kMaxWillReport bytes, to which it adds the code and the engine's end. `in_flight`:
/// that at the start of the phase; later ends are not counted.
std::string will_json(lifecycle::Report const& report, lifecycle::Phase phase,
                      std::size_t in_flight);

/// LASTCALL_TERMINATION_LOG, else /dev/termination-log.
std::string termination_log_path();
/// Returns true if the file existed and holds the report now.
bool write_termination_log(std::string const& path, std::string const& report);

}  // namespace lastcall::runtime
