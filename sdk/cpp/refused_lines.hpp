// Logs the lines that the supervisor refuses, however many there are.
//
// A program that begins more requests than one connection may have gets a refusal for each of them,
// and another for the end of each.
//
// Rules:
//  1. The first refusal with a code is logged at once. Further ones are counted; their number is
//     logged, with the last text, kCountFor later, or once the connection has ended.
//  2. Afterwards the next one is the first again.
//
// Thread rule: add() without the session's mutex, the rest under it; all on the thread that
// processes. Source: docs/ipc.md, 'Answers and errors'.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ipc/words.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/later.hpp"
#include "sdk/cpp/problem_log.hpp"

namespace lastcall::sdk {

inline constexpr std::chrono::minutes kCountFor{1};

class RefusedLines {
 public:
  explicit RefusedLines(ProblemLog const& log) : log_(log) {}

  void add(ipc::ErrorCode code, std::string text, Clock::time_point now);
  /// Logs the numbers that are due; returns the time at which the next one is.
  std::optional<Clock::time_point> tick(Clock::time_point now, Later& later);
  /// The connection has ended.
  void lost(Later& later);

 private:
  struct Row {
    Clock::time_point until;
    std::uint64_t more{};
    std::string last{};
  };

  void report(Row&& row, Later& later) const;

  ProblemLog const& log_;
  std::map<ipc::ErrorCode, Row> rows_;
};

}  // namespace lastcall::sdk
