// A worker's reports about the requests that it relays: the calls of a Tracker, as messages.
//
// Values only, except for the texts of a Refusal, which are static. No thread rule.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/vocabulary.hpp"
#include "ingress/scarce.hpp"
#include "ingress/tls_failure.hpp"
#include "relay/control_paths.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress::report {

struct Begun {
  std::string id;
  std::uint64_t serial = 0;
  std::string endpoint;
  std::string model;
  std::optional<bool> streaming;
  std::uint8_t priority = 0;
  std::string parent;
  std::uint64_t way = 0;
};
struct FirstByte {
  std::string id;
  std::string endpoint;
  std::string model;
  std::chrono::milliseconds took{};
};
struct Moved {
  std::string id;
};
struct ClientGone {
  std::string id;
  lifecycle::CancelMode mode;
};
struct Ended {
  std::string id;
  lifecycle::Outcome outcome{};
};
struct HandedOff {
  std::string id;
  std::string endpoint;
  std::string model;
  std::string_view reason;  // the one of a Refusal
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};
struct EventGap {
  std::string endpoint;
  std::chrono::milliseconds took{};
};
struct ErrorHeld {};
struct Evicted {
  Scarce what{};
};
struct Shed {
  Scarce what{};
};
struct SlowTurn {
  std::string_view kind;  // the one of Watched
  std::chrono::steady_clock::duration took{};
};
struct GreetingFailed {
  TlsFailure why;
  std::string address;
};
struct ControlCalled {
  bool is_granted = false;
  bool is_open = false;
  relay::Rest rest = relay::Rest::none;
  std::string certificate;
  std::string method;
  std::string path;
  std::string address;
};
struct Connections {
  std::size_t adopted = 0;  // number of clients that it ever adopted
  std::size_t clients = 0;
  std::size_t upstream = 0;
};

using Report = std::variant<Begun, FirstByte, Moved, ClientGone, Ended, HandedOff, EventGap,
                            ErrorHeld, Evicted, Shed, relay::Refusal, GreetingFailed, ControlCalled,
                            SlowTurn, Connections>;
using Batch = std::vector<Report>;

}  // namespace lastcall::ingress::report
