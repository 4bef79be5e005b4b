#include "supervisor/runtime/engine/engine_doubt.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::CheckVerdict;
using lifecycle::Duration;
using lifecycle::Instant;

/// A doubt lasts as long as an error is held back.
constexpr Duration kLength{2'000};
constexpr Duration kPause{100};
constexpr Duration kShortest{10};

}  // namespace

EngineDoubt::EngineDoubt(boost::asio::any_io_executor const& executor, Shell shell)
    : shell_(std::move(shell)), timer_(executor) {}

void EngineDoubt::arises() {
  Instant const now = monotonic_now();
  since_ = now;
  if (!looked_at_ || now >= *looked_at_ + kShortest) {
    look();
  } else {
    arm(*looked_at_ + kShortest);
  }
}

void EngineDoubt::look() {
  Instant const now = monotonic_now();
  if (!since_ || now >= *since_ + kLength) {
    since_.reset();
    return;
  }
  looked_at_ = now;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    bool const has_passed = checks_[i].passed_from && *checks_[i].passed_from >= *since_;
    if (!has_passed && shell_.run_now(i)) {
      checks_[i].began = now;
    }
  }
  arm(now + kPause);
}

void EngineDoubt::arm(Instant at) {
  timer_.expires_at(to_steady(at));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      look();
    }
  });
}

void EngineDoubt::outcome(std::size_t check, CheckVerdict verdict) {
  Row& row = checks_[check];
  auto const began = std::exchange(row.began, std::nullopt);
  bool const has_passed = verdict == CheckVerdict::passed || verdict == CheckVerdict::busy;
  if (!since_ || !began || !has_passed) {
    return;
  }
  auto const before = all_passed_from();
  row.passed_from = *began - shell_.server_outlives_engine();
  if (auto const from = all_passed_from(); from && from != before) {
    if (*from >= *since_) {
      since_.reset();
      timer_.cancel();
    }
    shell_.all_passed(*from);
  }
}

std::optional<Instant> EngineDoubt::all_passed_from() const {
  std::optional<Instant> from;
  for (Row const& row : checks_) {
    if (!row.passed_from) {
      return std::nullopt;
    }
    from = lifecycle::earlier_of(from, row.passed_from);
  }
  return from;
}

void EngineDoubt::end() {
  since_.reset();
  timer_.cancel();
  for (Row& row : checks_) {
    row.began.reset();
  }
}

}  // namespace lastcall::runtime
