// Detects workers that have fallen silent, by the streams that have waited too long for an event.
//
// Rules:
//  1. A worker is stalled if none of its streams that have begun has sent anything for `stall`;
//     then all of its streams count as stalled, including those that have not begun. Single streams
//     pause for good reasons (preemption, the prefill of another request, text that a parser holds
//     back).
//  2. A stream that is silent while others of its worker are not, or that has not begun, gets
//     kAlone times as long.
//  3. A worker that has left gets a quarter of the time, because no other sign will show that it is
//     dead.
//  4. A stream whose client does not read is not silent.
//  5. A unary answer is always silent and proves nothing. It leaves with the streams of a stalled
//     worker, or after the time of a single stream if its worker has failed other requests and
//     answered nothing since, or has answered no load question for `stall` (load_questions.hpp).
//  6. An answer that is relayed as it comes proves nothing either. If it has begun, it leaves as a
//     unary one does once it has been silent for `stall`, also if the streams that proved that its
//     worker is stalled have left by then and the worker has sent nothing since.
//
// Pure: time is an argument. No thread rule. Source: docs/router.md, 'Migration'.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "router/fleet.hpp"

namespace lastcall::router {

/// The event for which a request waits at its worker. Answers that are relayed as they come, which
/// may be streams, too, are `whole_answer`.
enum class Awaits : std::uint8_t { events, whole_answer };

class SilentStream;

inline constexpr Time kNotStalled = Time::max();

/// The streams of one worker.
struct SilentStreams {
  std::shared_ptr<Worker> worker;
  SilentStream* first = nullptr;
  Time stalled_at = kNotStalled;  // nothing has been sent since
};

/// A stream of a worker, with the state that the detection of silence needs. An event costs two
/// stores.
class SilentStream {
 public:
  explicit SilentStream(Awaits awaits = Awaits::events) : awaits_(awaits) {}
  SilentStream(SilentStream const&) = delete;
  SilentStream& operator=(SilentStream const&) = delete;

  /// Called for each event; comments do not count.
  void speak(Time now) {
    since_ = now;
    spoke_ = Spoke::at_since;
  }
  void pause() { is_paused_ = true; }
  void go_on(Time now) {
    is_paused_ = false;
    wait_again(now);
  }
  bool is_paused() const { return is_paused_; }
  bool has_spoken() const { return spoke_ != Spoke::never; }
  Awaits awaits() const { return awaits_; }

  /// Called when the stream has been silent for too long. It may leave during the call, and others
  /// with it.
  virtual void is_silent() = 0;

 protected:
  ~SilentStream() = default;

 private:
  friend class Silences;
  enum class Spoke : std::uint8_t {
    never,
    at_since,
    before,  // since_ is the time from which its silence counts
  };

  /// If it has sent something after its worker had fallen silent, the worker is not stalled.
  void disprove_stall() {
    if (among_ != nullptr && spoke_ == Spoke::at_since && since_ > among_->stalled_at) {
      among_->stalled_at = kNotStalled;
    }
  }
  void wait_again(Time since) {
    disprove_stall();
    spoke_ = spoke_ == Spoke::at_since ? Spoke::before : spoke_;
    since_ = since;
  }

  SilentStreams* among_ = nullptr;  // null if it is not watched
  SilentStream* next_ = nullptr;
  SilentStream* previous_ = nullptr;
  Time since_{};
  Awaits const awaits_;
  Spoke spoke_ = Spoke::never;
  bool is_paused_ = false;
};

class Silences {
 public:
  static constexpr int kAlone = 6;
  static constexpr int kLeft = 4;  // a worker that has left gets this fraction of the time

  explicit Silences(Time stall) : stall_(stall) {}

  void enter(SilentStream& stream, std::shared_ptr<Worker> const& worker, Time now);
  void leave(SilentStream& stream);
  /// The stream was found but stays; it is not found again before `stall` has passed.
  void stays(SilentStream& stream, Time now) { stream.wait_again(now + stall_); }
  static bool has(SilentStream const& stream) { return stream.among_ != nullptr; }

  /// The streams that have been silent for too long now.
  std::vector<SilentStream*> find(Time now);
  /// The time of the next check if no stream sends anything; absent if there is no stream.
  std::optional<Time> next(Time now) const;

 private:
  struct Limits {
    Time stall{};     // for a stream of this worker
    Time together{};  // silence after which all streams of the worker are stalled
    Time alone{};     // silence after which a single stream is stalled
    Time whole{};     // the time that a unary answer may take
    Time stalled_at = kNotStalled;
  };
  Limits limits_of(SilentStreams const& of) const;
  static Time due(SilentStream const& stream, Limits const& limits);

  Time const stall_;
  std::unordered_map<std::uint64_t, SilentStreams> of_worker_;  // only workers with streams
};

}  // namespace lastcall::router
