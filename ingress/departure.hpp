// Decides how connections are closed before the process ends: evenly, and without losing a request.
//
// Thread rule: the proxy's thread. Source: docs/ingress.md, 'Drains and stops'.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "ingress/poller.hpp"

namespace lastcall::ingress {

class Departure {
 public:
  /// After `over`, the responses on every connection close it. Until then, only those on a share of
  /// the connections do, and that share grows evenly. A second call may move the end closer.
  void close_over(std::chrono::milliseconds over) {
    std::chrono::milliseconds const now = monotonic_time();
    if (!closing_) {
      closing_ = Closing{now, over};
    } else {
      closing_->over = std::min(closing_->over, now - closing_->since + over);
    }
  }
  /// The core refuses new requests.
  void refuse() { is_refusing_ = true; }
  /// Connections without a request are closed a moment later.
  void part() { is_parting_ = true; }
  void call_off() {
    closing_.reset();
    is_refusing_ = false;
    is_parting_ = false;
  }

  bool is_refusing() const { return is_refusing_; }
  bool is_parting() const { return is_parting_; }
  /// `place` is the connection's position among all connections, in units of 2^-32.
  bool is_closing(std::uint32_t place) const {
    constexpr unsigned kPlaceBits = 32;
    if (!closing_) {
      return false;
    }
    auto const over = static_cast<std::uint64_t>(closing_->over.count());
    std::chrono::milliseconds const turn((over * place) >> kPlaceBits);
    return monotonic_time() - closing_->since >= turn;
  }

 private:
  struct Closing {
    std::chrono::milliseconds since{};
    std::chrono::milliseconds over{};
  };
  std::optional<Closing> closing_;
  bool is_refusing_ = false;
  bool is_parting_ = false;
};

}  // namespace lastcall::ingress
