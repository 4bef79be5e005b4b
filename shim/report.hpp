// The termination message: why this container ended, for `kubectl describe pod`.
//
// Rules: 1. the file is never created: it exists where Kubernetes wants a message; 2. the report
// that came with `exit` is written unchanged, as one line; 3. without such a report the shim writes
// what it knows itself. Source: Kubernetes, terminationMessagePath (at most 4096 bytes).
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/messages.hpp"

namespace lastcall::shim {

struct OwnReport {
  int exit_code = 0;
  bool stopping = false;
  int stop_signal = 0;  // 0: the stop began elsewhere
  std::string_view supervisor;
  std::string_view will;  // the supervisor's part: an object, or empty
  EngineFacts engine;
  std::int64_t orphans_reaped = 0;
  int survivors = 0;
};

void make_own_report(Text& out, OwnReport const& report);
/// Writes `line` to the termination message.
void write_report(char const* path, std::string_view line);

/// Keeps the raw JSON of `exit.report` until the end; it is cut where the message would be too
/// long.
class HandedReport {
 public:
  void keep(std::string_view raw_json);
  /// Replaces `wrong` by `right` in the `exit_code` of the report. Returns true if it has changed.
  bool correct_code(int wrong, int right);
  bool is_empty() const { return text_.view().empty(); }
  std::string_view view() const { return text_.view(); }

 private:
  TextOf<4096> text_;
};

}  // namespace lastcall::shim
