// The answer on its way to the client: its head, its payload from one or more legs, and its end.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Migration'.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relay/event_scanner.hpp"
#include "relay/http_head.hpp"
#include "router/call.hpp"
#include "router/continuation/continuation.hpp"
#include "router/records.hpp"
#include "router/seam.hpp"

namespace lastcall::router {

struct Parts;

class Answer final : public RecordOwner {
 public:
  /// The call outlives this.
  explicit Answer(Call& call) : call_(call) {}

  Seam& seam() { return seam_; }
  Seam const& seam() const { return seam_; }

  /// Whether the payload is recorded, so that the answer can continue at another worker.
  bool is_recorded() const;
  /// Writes the head.
  void open(relay::ResponseHead const& head, relay::Framing const& framing, std::string& wire);
  struct Delivered {
    continuation::Progress progress = continuation::Progress::nothing;
    /// When the worker will cut the answer, if the payload announced it.
    std::optional<Time> hint{};
  };
  /// Handles the payload of a leg. `until_close`: the end of the leg's connection ends its
  /// response.
  Delivered deliver(std::string_view payload, bool until_close, std::string& wire);
  /// Called when the client has received the next worker's first event before the first worker cut
  /// the answer.
  void handed_over(std::string& wire);
  /// Handles more of the answer, whatever its source.
  void emit(std::string_view out, std::string& wire);
  /// Takes note of the error with which the engine has ended the answer, if it has.
  void note(continuation::Received const& received);
  /// Called when the connection of a recorded leg has ended.
  continuation::Progress leg_ended(std::string& wire);

  /// Whether the record is as large as when it was weighed, so nothing has to be weighed.
  bool is_steady() const { return is_steady_; }
  void weighed() { is_steady_ = true; }
  /// Called before a leg begins, which holds memory too. The ids of the prompt are recorded by now.
  void leg_begins();

  /// The answer is over.
  void drop();

  // RecordOwner
  bool forget_record() override;

 private:
  Parts& parts() const { return call_.parts; }
  void note_error(relay::EventScanner::Suspect const& suspect, std::string_view payload);
  void note_time(bool has_events);
  void hold_record();
  void mark(Moving kind, std::string& wire) const;
  void has_moved(Call::Clock::time_point now);

  Call& call_;
  [[no_unique_address]] Seam seam_;
  bool is_steady_ = false;  // here, because there is room behind the seam
};

}  // namespace lastcall::router
