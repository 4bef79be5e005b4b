#include "core/engine_health.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace lastcall::lifecycle {
namespace {

bool is_final(Verdict verdict) {
  return verdict == Verdict::dead || verdict == Verdict::wedged;
}

std::string silence_text(Responsiveness const& responsiveness, CheckBoard const& checks,
                         CanarySilence const& canary) {
  std::string const nothing_moved =
      " for " + seconds_text(kSilenceLimit) + " and no byte of any request moved";
  switch (responsiveness.silence()) {
    case Silence::none:
      return {};
    case Silence::checks: {
      auto const silent = checks.unanswered();
      return silent
                 ? "check '" + silent->name + "' was not answered" + nothing_moved + silent->because
                 : "it was silent before this supervisor started, and has not answered since";
    }
    case Silence::canary:
      if (canary.is_empty()) {
        return "a request of one token was answered with status 200 and an empty body";
      }
      return "a request of one token was not answered" + nothing_moved;
    case Silence::tokens:
      return "requests are in flight and no token was generated for " +
             seconds_text(responsiveness.patience());
    case Silence::process:
      return responsiveness.stopped_name().empty()
                 ? "one of its processes is stopped"
                 : "its process '" + responsiveness.stopped_name() + "' is stopped";
  }
  return {};
}

}  // namespace

EngineHealth::EngineHealth(HealthSettings settings)
    : settings_(std::move(settings)), checks_(settings_.checks) {
  if (settings_.checks.empty()) {
    reason_ = "no shim has reported the engine's process, and no check is configured";
  }
}

void EngineHealth::reset() {
  HealthSettings settings = std::move(settings_);
  *this = EngineHealth(std::move(settings));
}

void EngineHealth::await_process() {
  startup.await_process();
  reason_ = "waiting for the next engine's process";
}

void EngineHealth::restart_silence(Instant now) {
  checks_.restart_silence(now);
  progress.restart_silence(now);
}

void EngineHealth::process_stopped(Instant now, std::string name, bool will_be_asked) {
  if (started()) {  // an engine that loads is not ready anyway
    responsiveness.process_stopped(now, std::move(name), will_be_asked);
  }
}

bool EngineHealth::started() const {
  return startup.is_over(!checks_.rows().empty(), checks_.all_pass());
}

void EngineHealth::check_finished(Instant now, CheckFinished const& result) {
  if (auto reason = checks_.finished(now, result, started())) {
    judge(Verdict::dead, std::move(*reason));
  }
}

void EngineHealth::limits_changed(HealthLimitsChanged const& limits) {
  LC_ASSERT(limits.failure_thresholds.size() == settings_.checks.size());
  for (std::size_t i = 0; i < settings_.checks.size(); ++i) {
    settings_.checks[i].failure_threshold = limits.failure_thresholds[i];
  }
  checks_.thresholds_changed(limits.failure_thresholds);
  settings_.unresponsive_after = limits.unresponsive_after;
  settings_.stalled_after = limits.stalled_after;
  settings_.startup_timeout = limits.startup_timeout;
}

void EngineHealth::update(Instant now) {
  if (is_final(verdict_)) {
    return;
  }
  if (!started()) {
    if (auto const limit = startup.limit(settings_.startup_timeout, settings_.unresponsive_after);
        limit && now >= *limit) {
      judge(Verdict::dead, "not ready " + seconds_text(*settings_.startup_timeout) +
                               " after its start (health.startup_timeout)");
    }
    return;
  }
  if (auto const silent = checks_.silent(now, settings_.unresponsive_after, progress.moved_at())) {
    judge(Verdict::dead, "check '" + silent->name + "' has not passed for " +
                             seconds_text(settings_.unresponsive_after) +
                             " and no byte of any request moved" + silent->because);
    return;
  }
  if (auto const limit = stalled_at(); limit && now >= *limit) {
    judge(Verdict::wedged, "requests in flight and no progress for " + seconds_text(stall_limit()));
    return;
  }
  if (auto const limit = canary_lost_at(); limit && now >= *limit) {
    judge(Verdict::wedged, "a request of one token was not answered for " +
                               seconds_text(canary_limit()) + " and no byte of any request moved");
    return;
  }
  responsiveness.update(now, signs());
  if (responsiveness.silence() != Silence::none) {
    judge(Verdict::unresponsive, silence_text(responsiveness, checks_, progress.canary()));
  } else {
    update_alive();
  }
}

Responsiveness::Signs EngineHealth::signs() const {
  return {.progress_at = progress.moved_at(),
          .check_at = checks_.answered_at(),
          .unanswered_since = checks_.unanswered_since(),
          .canary_since = progress.canary().since(),
          .work_since = progress.work_since(),
          .idle_since = progress.idle_since(),
          .tokens_at = progress.tokens() ? std::optional(progress.tokens()->at) : std::nullopt};
}

void EngineHealth::update_alive() {
  if (auto busy = checks_.busy_text()) {
    judge(Verdict::busy, std::move(*busy));
    return;
  }
  if (auto failing = checks_.failing_text()) {
    judge(Verdict::healthy, std::move(*failing));
    return;
  }
  std::string_view const well =
      checks_.rows().empty() ? "the engine's process runs" : "every check passed";
  if (verdict_ != Verdict::healthy || reason_ != well) {
    judge(Verdict::healthy, std::string(well));
  }
}

std::optional<Instant> EngineHealth::next_deadline() const {
  if (is_final(verdict_)) {
    return std::nullopt;
  }
  if (!started()) {
    return startup.limit(settings_.startup_timeout, settings_.unresponsive_after);
  }
  auto earliest = checks_.silent_until(settings_.unresponsive_after, progress.moved_at());
  earliest = earlier_of(earliest, stalled_at());
  earliest = earlier_of(earliest, canary_lost_at());
  return earlier_of(earliest, responsiveness.next_deadline(signs()));
}

/// How long work may be in flight while nothing of it moves, if that is judged.
Duration EngineHealth::stall_limit() const {
  if (settings_.stalled_after) {
    return *settings_.stalled_after;
  }
  auto const longest = responsiveness.longest_first_token();
  auto const tokens = progress.tokens();
  Duration const least = longest && tokens && tokens->with_work ? kStallLimit : kStallUnknown;
  return std::max(least, longest.value_or(Duration{0}) * 4);
}

std::optional<Instant> EngineHealth::stalled_at() const {
  auto const since = progress.still_since();
  if (!since || settings_.stalled_after == Duration{0}) {
    return std::nullopt;
  }
  Instant const limit = *since + stall_limit();
  if (settings_.stalled_after) {
    return limit;
  }
  auto const tokens = progress.tokens();
  return tokens && tokens->at >= limit ? std::optional(tokens->at) : std::nullopt;
}

/// A canary may have to wait for a prefill that began a moment before it was sent.
Duration EngineHealth::canary_limit() const {
  Duration const longest = responsiveness.longest_first_token().value_or(Duration{0});
  return std::max(settings_.unresponsive_after, longest * 4);
}

std::optional<Instant> EngineHealth::canary_lost_at() const {
  auto const since = progress.canary_silent_since();
  return since ? std::optional(*since + canary_limit()) : std::nullopt;
}

void EngineHealth::judge(Verdict verdict, std::string reason) {
  if (!is_final(verdict_) && (verdict_ != verdict || reason_ != reason)) {
    verdict_ = verdict;
    reason_ = std::move(reason);
  }
}

void EngineHealth::fingerprint(Mixer& m) const {
  auto const fell = responsiveness.fell_silent_at();
  m.all(verdict_, started(), next_deadline(), startup.awaits_process(), responsiveness.silence(),
        responsiveness.is_stopped(), responsiveness.waits_for_proof(), responsiveness.patience(),
        fell ? std::min(m.now - *fell, kSilenceForgiven) : kSilenceForgiven,
        progress.canary().unanswered_since().has_value(), progress.canary().is_empty());
  if (settings_.tokens_show_stalls) {
    m.put(std::min(progress.still_for(m.now), std::max(responsiveness.patience(), stall_limit())));
  }
  checks_.fingerprint(m);
}

void canary_answered(EngineHealth& health, Instant now, CanarySilence::Answer answer) {
  health.progress.canary_answered(now, answer);
  if (answer == CanarySilence::Answer::refused || answer == CanarySilence::Answer::empty) {
    health.responsiveness.no_proof_comes();
  }
}

}  // namespace lastcall::lifecycle
