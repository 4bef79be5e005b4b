// Watches whether a serving engine has a shim, and whether the shim can find the supervisor.
//
// Rules:
//  1. Outside of preStop mode, an engine that passes its checks should have a shim. If none is
//     connected for kGraceForShim, no process holds the stop signal back, so a stop would cut
//     running requests; this is reported once, and its end is reported, too. It does not affect
//     readiness, because the engine does serve.
//  2. Until a shim has connected, the socket's path is checked every second. If its directory was
//     replaced after the supervisor began to listen (by a volume that is mounted late), the shim
//     would find no process there.
//
// Thread rule: the loop's thread. Source: specification, 'Failing safe'.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/report.hpp"
#include "telemetry/log.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

inline constexpr std::chrono::seconds kGraceForShim{5};

class ShimWatch {
 public:
  struct Callbacks {
    /// Checks whether the socket's path still leads to this process.
    std::function<void()> follow_socket;
    /// Called when the warning begins, and when it is over.
    std::function<void(bool is_missing)> changed;
  };

  /// `is_expected` is false in preStop mode, in which nothing is watched.
  ShimWatch(boost::asio::io_context& io, bool is_expected, std::string const& socket,
            telemetry::Log& log, Callbacks callbacks);
  ~ShimWatch();

  void start();
  void update(lifecycle::Snapshot const& snapshot);
  bool is_missing() const { return is_missing_; }
  /// A text for display; empty unless the shim is missing.
  std::string warning() const { return is_missing_ ? text_ : std::string(); }

 private:
  struct Timer;

  void arm();
  void tick();
  void judge(bool is_absent, lifecycle::Instant now);

  telemetry::Log& log_;
  Callbacks callbacks_;
  std::unique_ptr<Timer> timer_;
  std::string const text_;
  bool const is_expected_;
  bool has_connected_ = false;
  bool is_armed_ = false;
  bool is_missing_ = false;
  std::optional<lifecycle::Instant> absent_since_;
};

}  // namespace lastcall::runtime
