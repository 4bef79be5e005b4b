// The answer on its way to the client: its head, its payload from one or more legs, and its end.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Migration'.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relay/http_head.hpp"
#include "router/call.hpp"
#include "router/continuation/continuation.hpp"
#include "router/records.hpp"
#include "router/seam.hpp"

namespace lastcall::router {

struct Parts;

class Answer final : public RecordOwner {
 public:
  /// Both outlive this.
  Answer(Call& call, Seam& seam);

  /// Whether the payload is recorded, so that the answer can continue at another worker.
  bool is_recorded() const;
  /// Writes the head.
  void open(relay::ResponseHead const& head, relay::Framing const& framing, std::string& wire);
  /// Handles the payload of a leg. `until_close`: the end of the leg's connection ends its
  /// response.
  continuation::Progress deliver(std::string_view payload, bool until_close, std::string& wire);
  /// The time after which the worker will cut the answer; absent unless the worker has announced
  /// since the last call that it is draining.
  std::optional<Time> take_hint() {
    Time const hint = std::exchange(hint_, kNoHint);
    return hint == kNoHint ? std::nullopt : std::optional(hint);
  }
  /// Called when the client has received the next worker's first event before the first worker cut
  /// the answer.
  void handed_over(std::string& wire);
  /// Handles more of the answer, whatever its source.
  void emit(std::string_view out, std::string& wire);
  /// Called when the connection of a recorded leg has ended.
  continuation::Progress leg_ended(std::string& wire);

  /// The answer is over.
  void drop();

  // RecordOwner
  bool forget_record() override;

 private:
  static constexpr Time kNoHint = Time::max();

  Parts& parts() const { return call_.parts; }
  void note_time(bool has_events);
  void mark(Moving kind, std::string& wire) const;
  void has_moved(Call::Clock::time_point now);

  Call& call_;
  Seam& seam_;
  Time hint_ = kNoHint;
};

}  // namespace lastcall::router
