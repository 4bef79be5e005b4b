// The output of one hook in the log: what fits below a limit, and then how much was left out.
//
// Invariant: whatever a hook writes, its records in the log take about kMost bytes at most, because
// a log that is not read as fast delays the end of the supervisor.
//
// Thread rule: the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/log.hpp"

namespace lastcall::runtime {

class HookOutput {
 public:
  static constexpr std::size_t kMost = 64 * 1024;

  HookOutput(telemetry::Log& log, std::string hook) : log_(log), hook_(std::move(hook)) {}

  void line(std::string_view line) {
    if (left_out_ > 0 || taken_ + kRecord + line.size() > kMost) {
      ++left_out_;
      bytes_left_out_ += line.size();
      return;
    }
    taken_ += kRecord + line.size();
    logged_ += line.size();
    log_.info("hook output", {{"hook", hook_}, {"line", line}});
  }
  /// No line follows.
  void end() {
    if (left_out_ > 0) {
      log_.warning("output of a hook was left out", {{"hook", hook_},
                                                     {"lines", left_out_},
                                                     {"bytes", bytes_left_out_},
                                                     {"logged_bytes", logged_}});
    }
  }

 private:
  static constexpr std::size_t kRecord = 128;  // what a record takes beside the line

  telemetry::Log& log_;
  std::string hook_;
  std::size_t taken_ = 0;       // bytes of records
  std::size_t logged_ = 0;      // bytes of lines
  std::uint64_t left_out_ = 0;  // lines
  std::uint64_t bytes_left_out_ = 0;
};

}  // namespace lastcall::runtime
