// The data that is kept for a successor of this supervisor: the blob, the shim's will, and the
// final report.
//
// Rules:
//  1. The blob lies with the shim, or in `stop.json` while no shim is connected; a record that a
//     stop leaves behind is removed when it has ended.
//  2. A shim that connects has neither blob nor will, so both are sent to it again.
//
// Owned by the core's thread. Source: specification, 'Remembering'; specification, 'The will'.
#pragma once

#include <optional>
#include <utility>

#include "core/action.hpp"
#include "core/mixer.hpp"
#include "core/remembered.hpp"
#include "core/report.hpp"

namespace lastcall::lifecycle {

class Memory {
 public:
  // --- the blob ---
  std::optional<Remembered> const& written() const { return written_; }
  void write(Remembered remembered) { written_ = std::move(remembered); }
  /// The written blob is not where it must be.
  void forget_written() { written_.reset(); }

  // --- stop.json ---
  void record_may_exist() { has_record_ = true; }
  /// Returns true if there may be a record, which must be removed.
  bool take_record() { return std::exchange(has_record_, false); }

  // --- the will ---
  std::optional<LeaveWill> const& will() const { return will_; }
  void leave(std::optional<LeaveWill> will) { will_ = std::move(will); }

  // --- the report ---
  std::optional<Report> const& final_report() const { return final_report_; }
  void publish(Report report) { final_report_ = std::move(report); }
  void forget_report() { final_report_.reset(); }

  void fingerprint(Mixer& m) const { m.put(has_record_); }

 private:
  std::optional<Remembered> written_;
  bool has_record_ = false;
  std::optional<LeaveWill> will_;  // the one that was sent on this connection of the shim
  std::optional<Report> final_report_;
};

}  // namespace lastcall::lifecycle
