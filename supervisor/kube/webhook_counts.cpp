#include "supervisor/kube/webhook_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <sstream>

namespace lastcall::kube {
namespace {

constexpr std::chrono::seconds kStuckAfter{30};  // a turn takes milliseconds, a wait at most 2 s

void describe(std::ostringstream& out, char const* name, char const* type, char const* help) {
  out << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
}

}  // namespace

void Counts::reviewed(ReviewEnd end, Clock::duration took) {
  double const seconds = std::chrono::duration<double>(took).count();
  std::lock_guard const lock(mutex_);
  ++reviews_.at(static_cast<std::size_t>(end));
  seconds_ += seconds;
  auto const bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  if (bound != kBounds.end()) {
    ++took_.at(static_cast<std::size_t>(bound - kBounds.begin()));
  }
}

void Counts::tls_failed(ingress::TlsFailure::Kind kind) {
  std::lock_guard const lock(mutex_);
  ++tls_failures_.at(static_cast<std::size_t>(kind));
}

void Counts::read_certificate(bool is_usable) {
  std::lock_guard const lock(mutex_);
  ++certificates_.at(is_usable ? 1 : 0);
}

void Counts::beat(std::int64_t certificate_ends_at) {
  std::lock_guard const lock(mutex_);
  beaten_ = Clock::now();
  certificate_ends_at_ = certificate_ends_at;
}

void Counts::looked(LookEnd end) {
  std::lock_guard const lock(mutex_);
  ++looks_.at(static_cast<std::size_t>(end));
}

void Counts::start_waits_for(std::string const& what) {
  std::lock_guard const lock(mutex_);
  has_started_ = has_started_ || what.empty();
  waits_for_ = has_started_ ? "" : what;
}

void Counts::end() {
  std::lock_guard const lock(mutex_);
  is_ending_ = true;
}

std::string Counts::why_not_ready() const {
  std::lock_guard const lock(mutex_);
  if (is_ending_) {
    return "ending";
  }
  if (!waits_for_.empty()) {
    return waits_for_;
  }
  bool const has_expired = certificate_ends_at_ != 0 && certificate_ends_at_ <= std::time(nullptr);
  return has_expired ? "the certificate has expired" : "";
}

std::string Counts::why_not_started() const {
  {
    std::lock_guard const lock(mutex_);
    if (!waits_for_.empty()) {
      return waits_for_;
    }
  }
  return why_not_alive();
}

std::string Counts::why_not_alive() const {
  std::lock_guard const lock(mutex_);
  return Clock::now() - beaten_ > kStuckAfter ? "the loop has not moved for 30 s" : "";
}

std::string Counts::exposition() const {
  std::lock_guard const lock(mutex_);
  std::ostringstream out;
  describe(out, "lastcall_webhook_reviews_total", "counter", "Admission reviews by outcome");
  for (int i = 0; i < kReviewEnds; ++i) {
    out << "lastcall_webhook_reviews_total{outcome=\"" << name(static_cast<ReviewEnd>(i)) << "\"} "
        << reviews_.at(static_cast<std::size_t>(i)) << '\n';
  }
  describe(out, "lastcall_webhook_review_duration_seconds", "histogram",
           "Time from a review's last byte to its answer");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    below += took_.at(i);
    out << "lastcall_webhook_review_duration_seconds_bucket{le=\"" << kBounds.at(i) << "\"} "
        << below << '\n';
  }
  std::uint64_t all = 0;
  for (std::uint64_t const count : reviews_) {
    all += count;
  }
  out << "lastcall_webhook_review_duration_seconds_bucket{le=\"+Inf\"} " << all
      << "\nlastcall_webhook_review_duration_seconds_sum " << seconds_
      << "\nlastcall_webhook_review_duration_seconds_count " << all << '\n';
  describe(out, "lastcall_webhook_tls_failures_total", "counter",
           "Clients whose TLS handshake failed");
  for (std::size_t i = 0; i < tls_failures_.size(); ++i) {
    out << "lastcall_webhook_tls_failures_total{kind=\""
        << ingress::name(static_cast<ingress::TlsFailure::Kind>(i)) << "\"} " << tls_failures_.at(i)
        << '\n';
  }
  describe(out, "lastcall_webhook_certificate_reads_total", "counter",
           "Reads of the certificate's files");
  out << "lastcall_webhook_certificate_reads_total{outcome=\"refused\"} " << certificates_[0]
      << "\nlastcall_webhook_certificate_reads_total{outcome=\"taken\"} " << certificates_[1]
      << '\n';
  describe(out, "lastcall_webhook_certificate_looks_total", "counter",
           "Checks of the Secret and the registration, where the webhook keeps its certificate");
  constexpr std::array<char const*, 3> kEnds{"kept", "changed", "failed"};
  for (std::size_t i = 0; i < looks_.size(); ++i) {
    out << "lastcall_webhook_certificate_looks_total{outcome=\"" << kEnds.at(i) << "\"} "
        << looks_.at(i) << '\n';
  }
  describe(out, "lastcall_webhook_certificate_expiry_timestamp_seconds", "gauge",
           "Expiry of the certificate, in seconds since 1970; 0 if it is unknown");
  out << "lastcall_webhook_certificate_expiry_timestamp_seconds " << certificate_ends_at_ << '\n';
  return out.str();
}

}  // namespace lastcall::kube
