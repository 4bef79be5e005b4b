// The answer on its way to the client: its head, its payload as one or several legs send it, its
// end.
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
  /// All outlive it.
  Answer(Call& call, Seam& seam);

  /// Its payload is recorded, so that it can go on elsewhere.
  bool is_recorded() const;
  /// Writes the head.
  void open(relay::ResponseHead const& head, relay::Framing const& framing, std::string& wire);
  /// Payload of a leg; `until_close`: its response ends with its connection.
  continuation::Progress deliver(std::string_view payload, bool until_close, std::string& wire);
  /// The worker has announced since the last call that it drains, and will cut the answer in this
  /// time.
  std::optional<Time> take_hint() {
    Time const hint = std::exchange(hint_, kNoHint);
    return hint == kNoHint ? std::nullopt : std::optional(hint);
  }
  /// The next worker's first event is with the client, before the first one was cut.
  void handed_over(std::string& wire);
  /// More of the answer, however it was made.
  void emit(std::string_view out, std::string& wire);
  /// The connection of a leg that is recorded has ended.
  continuation::Progress leg_ended(std::string& wire);

  /// It is over.
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
