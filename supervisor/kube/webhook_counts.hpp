// The webhook's reports about itself: counts, its readiness, and the text of a scrape.
//
// Thread rule: any thread; the probe listener reads what the webhook's own thread writes.
// Source: docs/webhook.md, 'The command'; Prometheus text format 0.0.4.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "ingress/tls_failure.hpp"
#include "supervisor/kube/review.hpp"

namespace lastcall::kube {

/// How a look at the Secret and the registration ended, if the webhook keeps its certificate there.
enum class LookEnd : std::uint8_t { kept, changed, failed };

class Counts {
 public:
  using Clock = std::chrono::steady_clock;

  void reviewed(ReviewEnd end, Clock::duration took);
  void tls_failed(ingress::TlsFailure::Kind kind);
  void read_certificate(bool is_usable);
  /// Records that the loop is moving, and the end of the certificate (seconds since 1970; 0:
  /// unknown).
  void beat(std::int64_t certificate_ends_at);
  void looked(LookEnd end);
  /// Sets what the start waits for; empty once the webhook has started, which is final.
  void start_waits_for(std::string const& what);
  /// From now on it is not ready.
  void end();

  /// Why it is not ready; empty if it is.
  std::string why_not_ready() const;
  /// Why it has not started or is not alive; empty otherwise.
  std::string why_not_started() const;
  /// Why it is not alive; empty if it is.
  std::string why_not_alive() const;
  std::string exposition() const;

 private:
  static constexpr std::array<double, 8> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1};

  mutable std::mutex mutex_;
  std::array<std::uint64_t, kReviewEnds> reviews_{};
  std::array<std::uint64_t, kBounds.size()> took_{};  // by the first bound that is not exceeded
  double seconds_ = 0;
  std::array<std::uint64_t, 3> tls_failures_{};
  std::array<std::uint64_t, 2> certificates_{};  // refused, taken
  std::array<std::uint64_t, 3> looks_{};
  std::string waits_for_;
  bool has_started_ = false;
  std::int64_t certificate_ends_at_ = 0;
  Clock::time_point beaten_ = Clock::now();
  bool is_ending_ = false;
};

}  // namespace lastcall::kube
