#include "core/token_probe.hpp"

#include <algorithm>

namespace lastcall::lifecycle {

void TokenProbe::observe(Instant now, Facts const& facts) {
  if (!facts.is_idle || !facts.engine_takes) {
    quiet_since_.reset();
  } else if (!quiet_since_) {
    quiet_since_ = now;
  }
}

std::optional<AskToken> TokenProbe::next(Instant now, Facts const& facts) {
  if (is_out() || !facts.engine_takes) {
    return std::nullopt;
  }
  if (settings_.barrier && facts.drains && facts.shows_zero && proof_ == Proof::none) {
    out_ = Out::barrier;
    return AskToken{++number_, TokenUse::barrier, false};
  }
  if (auto const due = canary_at(); due && now >= *due) {
    out_ = Out::canary;
    last_canary_ = now;
    return AskToken{++number_, TokenUse::canary, !facts.is_counted};
  }
  return std::nullopt;
}

bool TokenProbe::withdraws(Facts const& facts) {
  bool const may_stay = facts.engine_takes && (out_ != Out::barrier || facts.drains);
  if (!is_out() || may_stay) {
    return false;
  }
  end();
  return true;
}

std::optional<Instant> TokenProbe::canary_at() const {
  if (!settings_.canary || !quiet_since_) {
    return std::nullopt;
  }
  Instant const quiet = *quiet_since_ + kCanaryQuiet;
  return last_canary_ ? std::max(quiet, *last_canary_ + kCanaryPeriod) : quiet;
}

std::optional<Instant> TokenProbe::next_deadline(Facts const& facts) const {
  return is_out() || !facts.engine_takes ? std::nullopt : canary_at();
}

std::optional<TokenUse> TokenProbe::answered(TokenAnswered const& answer) {
  if (!is_out() || answer.number != number_) {
    return std::nullopt;
  }
  TokenUse const use = out_ == Out::barrier ? TokenUse::barrier : TokenUse::canary;
  end();
  if (use == TokenUse::barrier) {
    proof_ = answer.outcome == TokenOutcome::generated ? Proof::passed : Proof::failed;
  }
  return use;
}

void TokenProbe::end() {
  out_ = Out::none;
  is_sent_ = false;
}

void TokenProbe::progressed(Instant now) {
  if (quiet_since_) {
    quiet_since_ = now;
  }
}

}  // namespace lastcall::lifecycle
