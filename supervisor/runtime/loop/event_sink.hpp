// The only entry to the core, to which the shell's parts report events.
//
// Rules:
//  1. feed() runs the core and carries out its orders, in sequence, before it returns; events that
//     this causes are fed after that, never inside.
//  2. The reply has what the core answered to this event, when it was not queued behind another.
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
  /// The answer to a request for admission; with neither, it waits.
  bool is_admitted = false;
  std::optional<lifecycle::Reject> rejected;

  /// Most replies are empty, so nothing is built for them.
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

  /// Valid until the next call.
  virtual StepReply const& feed(lifecycle::Event const& event) = 0;
};

}  // namespace lastcall::runtime
