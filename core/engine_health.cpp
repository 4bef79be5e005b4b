#include "core/engine_health.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace lastcall::lifecycle {
namespace {

std::string seconds_text(Duration d) {
  return d.count() % 1000 == 0 ? std::to_string(d.count() / 1000) + " s"
                               : std::to_string(d.count()) + " ms";
}

/// What a check said, where it said something.
std::string because(std::string const& detail) {
  return detail.empty() ? "" : ": " + detail;
}

bool is_final(Verdict verdict) {
  return verdict == Verdict::dead || verdict == Verdict::wedged;
}

/// How long work may be in flight of which nothing moves, where that is judged.
Duration stall_limit(HealthSettings const& settings, Responsiveness const& heard, bool with_work) {
  if (settings.stalled_after) {
    return *settings.stalled_after;
  }
  auto const longest = heard.longest_first_token();
  Duration const least = longest && with_work ? kStallLimit : kStallUnknown;
  return std::max(least, longest.value_or(Duration{0}) * 4);
}

/// A canary may wait behind a prefill that began a moment before it was sent.
Duration canary_limit(HealthSettings const& settings, Responsiveness const& heard) {
  Duration const longest = heard.longest_first_token().value_or(Duration{0});
  return std::max(settings.unresponsive_after, longest * 4);
}

}  // namespace

EngineHealth::EngineHealth(HealthSettings settings)
    : settings_(std::move(settings)), rows_(settings_.checks.size()) {}

void EngineHealth::reset() {
  HealthSettings settings = std::move(settings_);
  *this = EngineHealth(std::move(settings));
}

void EngineHealth::await_process() {
  process_awaited_ = true;
  reason_ = "the next engine's process is awaited";
}

void EngineHealth::engine_started(Instant now, std::optional<Instant> at) {
  engine_started_at_ = std::min(now, at.value_or(now));
  engine_known_since_ = now;
  process_running_ = true;
}

void EngineHealth::listen_anew(Instant now) {
  for (Row& row : rows_) {
    if (row.slow_since) {
      row.slow_since = row.unanswered_since = now;
    }
  }
  if (work_since_) {
    work_since_ = now;
  }
  if (canary_since_) {
    canary_since_ = now;
  }
}

void EngineHealth::in_flight(Instant now, std::size_t count) {
  if (count == 0) {
    work_since_.reset();
    idle_since_ = idle_since_.value_or(now);
  } else {
    work_since_ = work_since_.value_or(now);
    idle_since_.reset();
  }
}

void EngineHealth::gauges_read(Instant now, bool with_tokens, bool with_work) {
  bool const is_live = with_tokens && settings_.tokens_show_stalls;
  tokens_ = is_live ? std::optional(TokensRead{now, with_work}) : std::nullopt;
}

void EngineHealth::process_stopped(Instant now, std::string name, bool will_be_asked) {
  if (started()) {  // one that loads is not ready anyway
    responsiveness_.process_stopped(now, std::move(name), will_be_asked);
  }
}

void EngineHealth::canary_dropped(bool is_refused) {
  canary_since_.reset();
  if (is_refused) {
    responsiveness_.no_proof_comes();
  }
}

void EngineHealth::canary_sent(Instant now) {
  canary_since_ = canary_since_.value_or(now);
}

void EngineHealth::canary_answered(Instant now) {
  canary_since_.reset();
  progressed(now);
}

bool EngineHealth::started() const {
  if (assumed_) {
    return true;
  }
  bool const process_ok = process_known_ ? process_running_ : !process_awaited_;
  bool const something = process_known_ || !rows_.empty();
  return something && process_ok &&
         std::all_of(rows_.begin(), rows_.end(), [](Row const& row) { return row.passes; });
}

void EngineHealth::check_finished(Instant now, CheckFinished const& result) {
  LC_ASSERT(result.check < rows_.size());
  Row& row = rows_[result.check];
  row.seen = true;
  row.last = result.verdict;
  row.detail = result.detail;
  bool const was_up = started();
  switch (result.verdict) {
    case CheckVerdict::passed:
    case CheckVerdict::busy:
      row.passes = true;
      row.failures = 0;
      row.slow_since.reset();
      row.unanswered_since.reset();
      check_at_ = now;
      break;
    case CheckVerdict::failed:
      // Refused before all were up is an engine that loads.
      row.passes = was_up;
      if (was_up && ++row.failures >= settings_.checks[result.check].failure_threshold) {
        judge(Verdict::dead, "check '" + settings_.checks[result.check].name + "' failed " +
                                 std::to_string(row.failures) + " times in a row" +
                                 because(row.detail));
      }
      break;
    case CheckVerdict::timed_out:
      row.passes = was_up;
      if (was_up && !row.slow_since) {
        row.slow_since = now;
        row.unanswered_since = now - result.took;
      }
      break;
  }
}

void EngineHealth::limits_changed(HealthLimitsChanged const& limits) {
  LC_ASSERT(limits.failure_thresholds.size() == settings_.checks.size());
  for (std::size_t i = 0; i < settings_.checks.size(); ++i) {
    settings_.checks[i].failure_threshold = limits.failure_thresholds[i];
  }
  settings_.unresponsive_after = limits.unresponsive_after;
  settings_.stalled_after = limits.stalled_after;
  settings_.startup_timeout = limits.startup_timeout;
}

void EngineHealth::update(Instant now) {
  if (is_final(verdict_)) {
    return;
  }
  if (!started()) {
    if (auto const limit = startup_limit(); limit && now >= *limit) {
      judge(Verdict::dead, "not ready " + seconds_text(*settings_.startup_timeout) +
                               " after its start (health.startup_timeout)");
    }
    return;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (auto const limit = unresponsive_at(rows_[i]); limit && now >= *limit) {
      judge(Verdict::dead, "check '" + settings_.checks[i].name + "' has not passed for " +
                               seconds_text(settings_.unresponsive_after) +
                               " and no byte of any request moved" + because(rows_[i].detail));
      return;
    }
  }
  if (auto const limit = stalled_at(); limit && now >= *limit) {
    judge(Verdict::wedged,
          "requests in flight and no progress for " +
              seconds_text(stall_limit(settings_, responsiveness_, tokens_ && tokens_->with_work)));
    return;
  }
  if (auto const limit = canary_lost_at(); limit && now >= *limit) {
    judge(Verdict::wedged, "a request of one token was not answered for " +
                               seconds_text(canary_limit(settings_, responsiveness_)) +
                               " and no byte of any request moved");
    return;
  }
  responsiveness_.update(now, heard());
  if (responsiveness_.silence() != Silence::none) {
    judge(Verdict::unresponsive, silence_text());
  } else {
    update_alive();
  }
}

Responsiveness::Heard EngineHealth::heard() const {
  Responsiveness::Heard heard{.progress_at = progress_at_,
                              .check_at = check_at_,
                              .unanswered_since = std::nullopt,
                              .canary_since = canary_since_,
                              .work_since = work_since_,
                              .idle_since = idle_since_,
                              .tokens_at = tokens_ ? std::optional(tokens_->at) : std::nullopt};
  for (Row const& row : rows_) {
    heard.unanswered_since = earlier_of(heard.unanswered_since, row.unanswered_since);
  }
  return heard;
}

std::string EngineHealth::silence_text() const {
  std::string const nothing_moved =
      " for " + seconds_text(kSilenceLimit) + " and no byte of any request moved";
  switch (responsiveness_.silence()) {
    case Silence::none:
      return {};
    case Silence::checks: {
      auto const row = std::find_if(rows_.begin(), rows_.end(),
                                    [](Row const& r) { return r.unanswered_since.has_value(); });
      if (row == rows_.end()) {
        return "it was silent before this supervisor started, and nothing was heard of it since";
      }
      return "check '" + settings_.checks[static_cast<std::size_t>(row - rows_.begin())].name +
             "' was not answered" + nothing_moved + because(row->detail);
    }
    case Silence::canary:
      return "a request of one token was not answered" + nothing_moved;
    case Silence::tokens:
      return "requests are in flight and no token was generated for " +
             seconds_text(responsiveness_.patience());
    case Silence::process:
      return responsiveness_.stopped_name().empty()
                 ? "one of its processes is stopped"
                 : "its process '" + responsiveness_.stopped_name() + "' is stopped";
  }
  return {};
}

void EngineHealth::update_alive() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].seen && rows_[i].last == CheckVerdict::busy) {
      judge(Verdict::busy, "check '" + settings_.checks[i].name + "' says busy");
      return;
    }
    if (rows_[i].slow_since) {
      judge(Verdict::busy,
            "check '" + settings_.checks[i].name + "' is slow" + because(rows_[i].detail));
      return;
    }
  }
  std::string_view const well = rows_.empty() ? "the engine's process runs" : "every check passed";
  auto const failing =
      std::find_if(rows_.begin(), rows_.end(), [](Row const& row) { return row.failures > 0; });
  if (failing != rows_.end()) {
    CheckSettings const& check =
        settings_.checks[static_cast<std::size_t>(failing - rows_.begin())];
    judge(Verdict::healthy,
          "check '" + check.name + "' failed " + std::to_string(failing->failures) + " of " +
              std::to_string(check.failure_threshold) + " times" + because(failing->detail));
  } else if (verdict_ != Verdict::healthy || reason_ != well) {
    judge(Verdict::healthy, std::string(well));
  }
}

std::optional<Instant> EngineHealth::next_deadline() const {
  std::optional<Instant> earliest;
  if (is_final(verdict_)) {
    return earliest;
  }
  if (!started()) {
    earliest = earlier_of(earliest, startup_limit());
    return earliest;
  }
  for (Row const& row : rows_) {
    earliest = earlier_of(earliest, unresponsive_at(row));
  }
  earliest = earlier_of(earliest, stalled_at());
  earliest = earlier_of(earliest, canary_lost_at());
  earliest = earlier_of(earliest, responsiveness_.next_deadline(heard()));
  return earliest;
}

std::optional<Instant> EngineHealth::unresponsive_at(Row const& row) const {
  if (!row.slow_since) {
    return std::nullopt;
  }
  Instant const since = progress_at_ ? std::max(*row.slow_since, *progress_at_) : *row.slow_since;
  return since + settings_.unresponsive_after;
}

/// Since when there has been work and none of it moved.
std::optional<Instant> EngineHealth::still_since() const {
  if (!work_since_) {
    return std::nullopt;
  }
  return progress_at_ ? std::max(*work_since_, *progress_at_) : *work_since_;
}

std::optional<Instant> EngineHealth::stalled_at() const {
  auto const since = still_since();
  if (!since || settings_.stalled_after == Duration{0}) {
    return std::nullopt;
  }
  Instant const limit =
      *since + stall_limit(settings_, responsiveness_, tokens_ && tokens_->with_work);
  if (settings_.stalled_after) {
    return limit;
  }
  return tokens_ && tokens_->at >= limit ? std::optional(tokens_->at) : std::nullopt;
}

std::optional<Instant> EngineHealth::canary_lost_at() const {
  if (!canary_since_) {
    return std::nullopt;
  }
  Instant const since = progress_at_ ? std::max(*canary_since_, *progress_at_) : *canary_since_;
  return since + canary_limit(settings_, responsiveness_);
}

Duration EngineHealth::still_for(Instant now) const {
  auto const since = still_since();
  return since ? now - *since : Duration{0};
}

std::string EngineHealth::progress_text(Instant now) const {
  auto const since = still_since();
  return since ? "work in flight, nothing moved for " + seconds_text(now - *since)
               : "nothing in flight";
}

std::optional<Instant> EngineHealth::startup_limit() const {
  if (!settings_.startup_timeout || !engine_started_at_) {
    return std::nullopt;
  }
  // One that has been ready for long, and was not seen so yet, gets the time to show it.
  Duration const limit = *settings_.startup_timeout;
  return std::max(*engine_started_at_ + limit,
                  engine_known_since_ + std::min(limit, settings_.unresponsive_after));
}

void EngineHealth::judge(Verdict verdict, std::string reason) {
  if (!is_final(verdict_) && (verdict_ != verdict || reason_ != reason)) {
    verdict_ = verdict;
    reason_ = std::move(reason);
  }
}

void EngineHealth::fingerprint(Mixer& m) const {
  auto const fell = responsiveness_.fell_silent_at();
  m.all(verdict_, started(), next_deadline(), process_awaited_, responsiveness_.silence(),
        responsiveness_.is_stopped(), responsiveness_.waits_for_proof(), responsiveness_.patience(),
        fell ? std::min(m.now - *fell, kSilenceForgiven) : kSilenceForgiven, waits_for_canary());
  if (settings_.tokens_show_stalls) {
    m.put(std::min(still_for(m.now), std::max(responsiveness_.patience(),
                                              stall_limit(settings_, responsiveness_,
                                                          tokens_ && tokens_->with_work))));
  }
  for (Row const& row : rows_) {
    m.all(row.passes, row.failures, row.slow_since ? m.now - *row.slow_since : Duration{-1},
          row.last, row.seen, row.unanswered_since ? m.now - *row.unanswered_since : Duration{-1});
  }
}

}  // namespace lastcall::lifecycle
