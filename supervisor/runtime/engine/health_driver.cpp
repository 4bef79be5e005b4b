#include "supervisor/runtime/engine/health_driver.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "core/settings.hpp"
#include "supervisor/runtime/host/listening_ports.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::CheckVerdict;
using probes::CheckOutcome;
using probes::CheckResult;
using probes::Duration;

CheckVerdict verdict_of(CheckResult result) {
  switch (result) {
    case CheckResult::passed:
      return CheckVerdict::passed;
    case CheckResult::failed_definite:
      return CheckVerdict::failed;
    case CheckResult::failed_unclear:
    case CheckResult::timed_out:
      return CheckVerdict::timed_out;
    case CheckResult::not_asked:
      return CheckVerdict::not_asked;
  }
  return CheckVerdict::not_asked;
}

/// A longer list of ports would be a whole host's, which does not help to find the engine's.
constexpr std::size_t kPortsShown = 12;

std::string who_listens() {
  std::set<std::uint16_t> const ports = listening_ports();
  std::string text = "ports with a listener here:";
  std::size_t shown = 0;
  for (std::uint16_t const port : ports) {
    if (++shown > kPortsShown) {
      return text + " and " + std::to_string(ports.size() - kPortsShown) + " more";
    }
    text += (shown == 1 ? " " : ", ") + std::to_string(port);
  }
  return text + (ports.empty() ? " none" : "");
}

}  // namespace

HealthDriver::HealthDriver(boost::asio::any_io_executor executor, config::Config const& config,
                           EventSink& events, telemetry::Log& log, Callbacks callbacks)
    : executor_(executor),
      events_(events),
      log_(log),
      callbacks_(std::move(callbacks)),
      ipc_(callbacks_.ask_peers),
      exec_(executor_),
      rounds_(config.health.interval),
      doubt_(executor_, {.run_now = [this](std::size_t index) { return runner_.run_now(index); },
                         .server_outlives_engine = callbacks_.server_outlives_engine,
                         .all_passed = callbacks_.on_all_passed}),
      runner_(std::move(executor), config.health.interval,
              [this](std::size_t index, std::string const&, CheckOutcome const& result) {
                outcome(index, result);
              }) {
  config::EngineProfile const profile = config::resolve_engine(config);
  for (config::HealthCheck const& check : profile.checks) {
    add(check, profile.dead_statuses);
  }
  runner_.on_round([this] {
    note_absence();
    note_slow_start();
    callbacks_.on_round();
  });
  runner_.while_starting([this] { return callbacks_.is_starting(); });
}

void HealthDriver::add(config::HealthCheck const& check,
                       std::vector<std::uint32_t> const& dead_statuses) {
  std::unique_ptr<probes::Check> made;
  if (auto const* http = std::get_if<config::HttpCheck>(&check.kind)) {
    auto result =
        probes::make_http_check(executor_, {.url = http->url, .dead_statuses = dead_statuses});
    if (auto* const error = std::get_if<std::string>(&result)) {
      problem_ = "health check '" + check.name + "': " + *error;
      return;
    }
    made = std::move(std::get<std::unique_ptr<probes::Check>>(result));
  } else if (auto const* tcp = std::get_if<config::TcpCheck>(&check.kind)) {
    made = probes::make_tcp_check(executor_, {tcp->address.host, tcp->address.port});
  } else if (auto const* exec = std::get_if<config::ExecCheck>(&check.kind)) {
    made = exec_.make(*exec, check.timeout);
  } else if (std::holds_alternative<config::ProgressCheck>(check.kind)) {
    made = make_progress();
  } else {
    made = ipc_.make_check(executor_, rows_.size());
  }
  // An exec check is ended by its child's own timeout, which reports more; this timeout only bounds
  // it.
  bool const is_exec = std::holds_alternative<config::ExecCheck>(check.kind);
  runner_.add(check.name, std::move(made),
              is_exec ? check.timeout + ExecChecks::kKillWait : check.timeout);
  rows_.push_back({.name = check.name});
  doubt_.add_check();
}

std::unique_ptr<probes::Check> HealthDriver::make_progress() {
  auto const check = std::make_shared<probes::AskedCheck*>(nullptr);
  auto made = std::make_unique<probes::AskedCheck>(executor_, [this, check] {
    boost::asio::post(executor_, [this, check] {
      (*check)->answered({.result = CheckResult::passed, .detail = callbacks_.describe_progress()});
    });
    return std::string{};
  });
  *check = made.get();
  return made;
}

void HealthDriver::run(bool wanted) {
  if (wanted == is_running_) {
    return;
  }
  is_running_ = wanted;
  rounds_.restart();
  slow_start_.forget();
  if (wanted) {
    runner_.start();
    return;
  }
  runner_.stop();
  doubt_.end();
  exec_.cancel();
}

void HealthDriver::doubt() {
  if (is_running_) {
    doubt_.arises();
  }
}

void HealthDriver::outcome(std::size_t index, CheckOutcome const& result) {
  bool const is_busy = result.result == CheckResult::passed &&
                       index == ipc_.index().value_or(index + 1) && ipc_.last_was_busy();
  CheckVerdict const verdict = is_busy ? CheckVerdict::busy : verdict_of(result.result);
  Row& row = rows_[index];
  note_change(row, verdict, result.detail);
  row.last = verdict;
  row.detail = result.detail;
  row.latency = result.latency;
  callbacks_.on_outcome(row.name, result);
  doubt_.outcome(index, verdict);
  events_.feed(lifecycle::CheckFinished{.check = static_cast<std::uint32_t>(index),
                                        .verdict = verdict,
                                        .detail = result.detail,
                                        .took = result.latency});
}

void HealthDriver::note_absence() {
  lifecycle::Duration const late = rounds_.next(monotonic_now());
  if (late > lifecycle::kOwnAbsence) {
    log_.warning("the supervisor was not running: the engine's silence counts from now",
                 {{"for_ms", lifecycle::to_ms(late)}});
    events_.feed(lifecycle::TimerExpired{late});
  }
}

void HealthDriver::run_now() {
  if (is_running_) {
    runner_.run_now();
  }
}

/// Loading takes minutes, so the checks that have not passed are logged now and then.
void HealthDriver::note_slow_start() {
  auto const age = slow_start_.reminder(monotonic_now(), callbacks_.is_starting());
  if (!age) {
    return;
  }
  std::string awaited;
  bool is_refused = false;
  for (Row const& row : rows_) {
    bool const passes = row.last == CheckVerdict::passed || row.last == CheckVerdict::busy;
    if (!passes) {
      awaited += (awaited.empty() ? "check '" : ", check '") + row.name + "'";
      awaited += row.detail.empty() ? "" : ": " + row.detail;
      is_refused = is_refused || row.detail.find("refused") != std::string::npos;
    }
  }
  // An engine that listens at another address than its check uses would be awaited for ever.
  awaited += is_refused ? "; " + who_listens() : "";
  log_.info("still starting after " + std::to_string(lifecycle::to_ms(*age) / 1'000) +
            " s: " + (awaited.empty() ? "every check passes" : awaited));
}

bool HealthDriver::is_slow() const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [](Row const& row) { return row.last == CheckVerdict::timed_out; });
}

void HealthDriver::note_change(Row const& row, CheckVerdict verdict, std::string const& detail) {
  if (row.last && *row.last == verdict) {
    return;
  }
  bool const is_good = verdict == CheckVerdict::passed || verdict == CheckVerdict::busy;
  bool const is_expected = is_good || callbacks_.is_starting();
  log_.write(is_expected ? telemetry::LogLevel::info : telemetry::LogLevel::warning,
             is_good       ? "check passes"
             : is_expected ? "check has not passed yet"
                           : "check fails",
             {{"check", row.name}, {"detail", detail}});
}

void HealthDriver::health(ipc::PeerId peer, ipc::Health const& health) {
  bool const was_asked = !ipc_.answered(peer, health);
  if (was_asked || health.status != ipc::HealthStatus::dead) {
    return;
  }
  if (ipc_.index()) {
    outcome(*ipc_.index(), {.result = CheckResult::failed_definite,
                            .detail = "the SDK reports dead: " + health.detail});
  } else {
    log_.warning("an SDK reports 'dead', which has no effect: health.checks has no ipc check",
                 {{"peer", peer}, {"detail", health.detail}});
  }
}

}  // namespace lastcall::runtime
