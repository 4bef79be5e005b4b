// The end of the shim itself: its cause, its code and report, and its progress.
//
// Rules: 1. an order to exit gives the code, and may hand over the report; a failure of the shim
// gives a code as well; a 137 that cannot be true is corrected once, when it comes; 2. a supervisor
// that was notified of the shim's end gets a moment for its own end, but until D if its pending
// lines are not read; 3. if the command never ran, that supervisor may begin its stop only now, and
// gets the whole time of that, until D, once it has sent its will; 4. the shim ends once the tree
// is gone, or when nothing can be done about the tree any more. Pure values. Source: specification,
// 'Shim'; docs/ipc.md, `exit`.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/instant.hpp"
#include "shim/deadline_rules.hpp"
#include "shim/report.hpp"

namespace lastcall::shim {

class Departure {
 public:
  void ordered(std::optional<int> code, std::string_view raw_report) {
    word_ = Word::of_the_supervisor;
    code_ = code;
    report_.keep(raw_report);
    heeding_ = Heeding::due;
  }
  /// Returns true once for each order, which the caller then handles.
  bool takes_heed() { return std::exchange(heeding_, Heeding::done) == Heeding::due; }
  void failed(int code) { code_ = code; }
  void keep_report(std::string_view raw_report) { report_.keep(raw_report); }
  bool is_ordered() const { return word_ == Word::of_the_supervisor; }
  /// Absent if the end of the command decides the code.
  std::optional<int> code() const { return code_; }
  HandedReport const& report() const { return report_; }
  /// Replaces the ordered code by this one. Returns true if the report contains the new code now.
  bool correct(int code) {
    int const wrong = std::exchange(code_, code).value_or(code);
    return report_.correct_code(wrong, code);
  }

  /// `supervisor` is one word for the report: its state before the shim ends what is left of it.
  void begin(Instant now, bool service_may_end, std::string_view supervisor) {
    since_ = now;
    service_may_end_ = service_may_end;
    supervisor_ = supervisor;
  }
  std::string_view supervisor() const { return supervisor_; }
  Instant since() const { return since_; }
  /// The supervisor has connected only now.
  void supervisor_came() { supervisor_ = "present"; }
  /// The shim's supervisor carries out a stop.
  void service_stops() { service_stop_ = ServiceStop::under_way; }
  /// The shim's supervisor is done with its stop. Returns true if it had one.
  bool service_has_stopped(Instant now) {
    if (service_stop_ != ServiceStop::under_way) {
      return false;
    }
    service_stop_ = ServiceStop::done;
    service_done_at_ = now;
    return true;
  }
  /// The time from which the shim's supervisor is killed.
  Instant service_kill_at(StopClock const& clock) const {
    if (!service_may_end_) {
      return since_;
    }
    if (service_stop_ == ServiceStop::under_way && clock.running()) {
      return std::max(clock.deadline(), since_ + kLastMoment);
    }
    return service_end_at(service_done_at_.value_or(since_), log_was_full_at_, clock);
  }
  /// The shim's supervisor waits for the reader of its output.
  void log_is_full(Instant now) { log_was_full_at_ = now; }

  void tree_is_done() { progress_ = Progress::tree_done; }
  bool has_tree_done() const { return progress_ == Progress::tree_done; }

 private:
  enum class Word : unsigned char { our_own, of_the_supervisor };
  enum class Heeding : unsigned char { done, due };
  enum class Progress : unsigned char { tree_lives, tree_done };
  enum class ServiceStop : unsigned char { none, under_way, done };

  Word word_ = Word::our_own;
  Heeding heeding_ = Heeding::done;
  Progress progress_ = Progress::tree_lives;
  bool service_may_end_ = false;
  ServiceStop service_stop_ = ServiceStop::none;
  std::optional<int> code_;
  Instant since_{};
  std::optional<Instant> service_done_at_;
  std::string_view supervisor_ = "never";
  std::optional<Instant> log_was_full_at_;
  HandedReport report_;
};

}  // namespace lastcall::shim
