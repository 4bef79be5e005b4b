// A response on its way from the connection of an engine, the leg, to its client.
//
// Rules:
//  1. A head that arrives opens the delivery, payload flows through it, and the delivery ends where
//     the leg's framing ends the response.
//  2. An error that may mean the engine's death is held back with all that follows (held_back.hpp).
//  3. The end of the leg's connection is the end of the response only if its framing allows that.
//     If that end may also be a death, a verdict is needed.
//
// Pure, no thread rule. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relay/delivery.hpp"
#include "relay/held_back.hpp"
#include "relay/http_head.hpp"
#include "relay/request_reader.hpp"
#include "relay/response_reader.hpp"

namespace lastcall::relay {

/// Facts from outside, which are read when they matter.
class Surroundings {
 public:
  Surroundings() = default;
  Surroundings(Surroundings const&) = delete;
  Surroundings& operator=(Surroundings const&) = delete;

  /// Whether an error of the engine may mean its death, which a shim or a check would report.
  virtual bool engine_may_be_dying() const = 0;
  /// Whether responses must close the connections of their clients.
  virtual bool is_closing() const = 0;

 protected:
  ~Surroundings() = default;
};

/// The consequences of bytes from the engine.
struct Received {
  bool first_byte = false;  // the first byte of the engine's work has come
  bool moved = false;       // a byte of that work has come, the first one or a later one
  bool holds = false;       // an error is held back from now on
  bool has_more = false;    // more came than belongs to the response
  bool is_error = false;    // an event or a status reported an error
  bool switched = false;    // the connection has switched to another protocol
  bool closes = false;      // the head announced to the client that its connection closes
  std::optional<std::chrono::milliseconds> gap;  // between two reads that ended events
};

class ResponseSide {
 public:
  using Time = std::chrono::milliseconds;
  /// Facts of the exchange that the bytes belong to.
  struct Context {
    std::string_view id;
    Asked const& asked;
    bool wants_stream = false;
    bool has_all_of_request = false;
    Time now{};
    Surroundings const& world;
  };
  enum class Ending : std::uint8_t {
    none,
    tunnel,    // it ended in order
    by_close,  // the response ends with its connection, if the engine lives
    failed,    // it ended early, or was malformed
  };

  ResponseReader const& leg() const { return leg_; }
  Delivery& delivery() { return delivery_; }
  Delivery const& delivery() const { return delivery_; }
  HeldBack const& held_back() const { return held_back_; }
  bool is_malformed() const { return leg_.state() == ResponseState::malformed; }
  /// The number of events that the client has.
  std::uint64_t events_sent() const;
  /// The number of bytes that this object holds.
  std::size_t capacity() const;

  /// `wire` gets what goes to the client.
  Received receive(std::span<char> bytes, Context const& context, std::string& wire);
  /// Passes on what is held back, because the engine lives and this is its answer.
  Received let_through(Context const& context, std::string& wire);
  void drop_held() { held_back_.end(); }

  /// The leg's connection has ended.
  Ending ended(bool orderly);
  /// The leg cannot be used any more, because what came is malformed.
  void failed() { ending_ = Ending::failed; }
  Ending ending() const { return ending_; }
  /// Whether the client's response depends on a verdict about the engine.
  bool wants_verdict() const;
  /// The engine lives, so a response that ended by close is complete.
  void finish(std::string& wire);

  /// Reads a response that no client waits for. Returns true if these bytes hold its first byte, or
  /// are not a response.
  bool engine_has_begun(std::span<char> bytes, Asked const& asked, bool wants_stream);

 private:
  std::span<char> read_head(std::span<char> bytes, Context const& context, std::string& wire,
                            Received& received);
  void open(ResponseHead const& head, Context const& context, std::string& wire,
            Received& received);
  void deliver(std::string_view payload, Context const& context, std::string& wire,
               Received& received);
  bool hold_event(std::string_view payload, EventScanner::Found const& found,
                  Context const& context, std::string& wire, Received& received);
  bool may_hold(Context const& context) const;
  void note_event(Time now, Received& received);

  ResponseReader leg_;
  Delivery delivery_;
  HeldBack held_back_;
  Ending ending_ = Ending::none;
  Time last_event_at_{};
};

}  // namespace lastcall::relay
