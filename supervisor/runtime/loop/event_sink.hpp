// The only entry to the core, through which the parts of the shell report events.
//
// Rules:
//  1. feed() runs the core and carries out its orders, in sequence, before it returns; events that
//     this causes are fed afterwards, never within that call.
//  2. The reply contains the core's answer to this event, unless the event was queued behind
//     another.
//
// Thread rule: the loop's thread.
#pragma once

#include <optional>

#include "core/action.hpp"
#include "core/event.hpp"

namespace lastcall::runtime {

struct StepReply {
  std::optional<lifecycle::Refuse> refusal;
  std::optional<lifecycle::Answer> answer;
  /// Answers a request for admission; if neither this nor `rejected` is set, the request waits.
  bool is_admitted = false;
  std::optional<lifecycle::Reject> rejected;
  /// The core decides nothing any more, because the supervisor ends.
  bool is_over = false;

  /// Most replies are empty, so nothing is constructed for them.
  void clear() {
    refusal.reset();
    answer.reset();
    is_admitted = false;
    rejected.reset();
  }
};

class EventSink {
 public:
  EventSink() = default;
  EventSink(EventSink const&) = delete;
  EventSink& operator=(EventSink const&) = delete;
  virtual ~EventSink() = default;

  /// The reply is valid until the next call.
  virtual StepReply const& feed(lifecycle::Event const& event) = 0;
};

}  // namespace lastcall::runtime
