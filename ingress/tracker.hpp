// The side that counts the requests that the proxy relays, and decides about them. It is the core,
// which is called through the runtime.
//
// Rules:
//  1. Each request that counts gets begin() and, unless it was refused, end() exactly once.
//  2. begin() may answer at once or later, through Proxy::admitted() and Proxy::rejected(). These
//     name the request by the serial of its begin(), because another request may have its id by
//     then.
//  3. No exception leaves these calls; none of them calls back into the proxy.
//
// Thread rule: the thread of the proxy that calls. Source: docs/ingress.md, 'What counts'.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/admission_limits.hpp"
#include "core/vocabulary.hpp"
#include "ingress/connection_observer.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

struct Begun {
  std::string_view id;
  std::uint64_t serial = 0;  // of the request: ids are reused, serials are not
  std::string_view endpoint;
  std::string_view model;
  std::optional<bool> streaming;
  std::uint8_t priority = lifecycle::kUsualPriority;  // 0 to 7, less is more urgent
  std::string_view parent = {};  // the request of the tier above that this one is a part of
  std::uint64_t way = 0;         // sent to the engine, which identifies its part by it
};

/// The facts that a program needs to continue a cut request elsewhere.
struct HandedOff {
  std::string_view id;
  std::string_view endpoint;
  std::string_view model;
  std::string_view reason;   // of the cancellation
  std::uint64_t events = 0;  // number of events that the client has
  std::uint64_t bytes = 0;   // number of bytes of the body that the client has
};

struct Admission {
  enum class Kind : std::uint8_t { admitted, waits, refused };
  Kind kind = Kind::admitted;
  relay::Refusal refusal;  // for Kind::refused
};

/// Progress is reported at most once in this time, because it proves only that the engine is alive.
inline constexpr std::chrono::milliseconds kProgressPeriod{100};

class Tracker : public ConnectionObserver {
 public:
  virtual Admission begin(Begun const& begun) = 0;
  /// The first byte of the response has come, see relay/first_byte.hpp. `model`: the model in the
  /// engine's answer, if it differs from the one before.
  virtual void first_byte(std::string_view id, std::string_view endpoint, std::string_view model,
                          std::chrono::milliseconds took) = 0;
  /// A byte of the response has moved after the first.
  virtual void moved(std::string_view id) = 0;
  /// The client disconnected before the response was complete; end() follows. `stop`: the engine
  /// may take its time, so the request can still be killed.
  virtual void client_gone(std::string_view id, lifecycle::CancelMode mode) = 0;
  virtual void ended(std::string_view id, lifecycle::Outcome outcome) = 0;
  /// The request is cut, and its client gets a hint to send it again; end() follows.
  virtual void handed_off(HandedOff const& handed) = 0;
  /// Called when the engine's connection broke. Returns true if the engine's process may have ended
  /// while the report of that is still on its way.
  virtual bool engine_may_be_gone() const = 0;
  /// Called when the engine answers with an error. Returns true if that may mean its death, which a
  /// shim or a check would report.
  virtual bool engine_may_be_dying() const = 0;
  /// Such an error is held back, so the engine should be checked now.
  virtual void error_held() = 0;

  /// Only for metrics and logs: the time between two reads that ended events of one stream.
  virtual void event_gap(std::string_view endpoint, std::chrono::milliseconds took) = 0;
};

}  // namespace lastcall::ingress
