// Holds an error that may mean the engine's death, and all that follows it, until it is known
// whether the engine is dead.
//
// Rule: a response holds back at most one error; after it was let through, all bytes are passed on
// at once.
//
// Pure, no thread rule. Source: docs/ingress.md, 'An engine that dies'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace lastcall::relay {

class HeldBack {
 public:
  using Time = std::chrono::milliseconds;
  enum class Part : std::uint8_t {
    answer,  // the whole answer of the engine, from its head on
    events,  // a part of the body, from the error event on
  };
  struct Error {
    Part part{};
    Time since{};
    std::string bytes;
    std::uint64_t events_before = 0;  // number of events that the client has
    std::size_t whole = 0;            // length of Part::events up to the last boundary
  };

  bool is_possible() const { return state_ == State::never; }
  /// Absent if nothing is held.
  Error* error() { return error_.get(); }
  Error const* error() const { return error_.get(); }
  Error& begin(Error error) {
    state_ = State::holds;
    error_ = std::make_unique<Error>(std::move(error));
    return *error_;
  }
  /// The error is passed on, or no longer needed.
  std::unique_ptr<Error> end() {
    state_ = error_ ? State::over : state_;
    return std::move(error_);
  }

 private:
  enum class State : std::uint8_t { never, holds, over };

  State state_ = State::never;
  std::unique_ptr<Error> error_;
};

}  // namespace lastcall::relay
