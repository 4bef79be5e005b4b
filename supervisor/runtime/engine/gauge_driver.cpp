#include "supervisor/runtime/engine/gauge_driver.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lastcall::runtime {
namespace {

using probes::Duration;

constexpr Duration kSlowest{1'000};
constexpr Duration kFastest{100};

/// A refresh period may be long (30 s), but a drain should not end that much late.
Duration drain_period(Duration refresh, Duration drain_unknown) {
  return std::clamp(std::min(refresh, drain_unknown / 2), kFastest, kSlowest);
}

}  // namespace

probes::GaugeSettings gauge_settings(config::EngineGauges const& gauges) {
  return {.url = gauges.url,
          .running = gauges.running,
          .waiting = gauges.waiting,
          .tokens = gauges.tokens,
          .kv_usage = gauges.kv_usage,
          .load_url = gauges.load_url,
          .rank_label = gauges.rank_label,
          .running_is_load = gauges.running_is_load};
}

lifecycle::GaugesRead gauges_read(probes::GaugeReading const& reading) {
  return {.in_flight = reading.in_flight,
          .tokens = reading.tokens,
          .load = reading.load,
          .cache = reading.cache};
}

GaugeDriver::GaugeDriver(boost::asio::any_io_executor executor, config::Config const& config,
                         EventSink& events, telemetry::Log& log, std::function<void()> on_reading)
    : drain_period_(kSlowest),
      progress_period_(config.health.interval),
      timeout_(kSlowest),
      events_(events),
      log_(log),
      on_reading_(std::move(on_reading)),
      timer_(executor) {
  if (auto const gauges = config::resolve_engine(config).gauges) {
    drain_period_ = drain_period(gauges->refresh, config.shutdown.budgets.drain_unknown);
    reader_ = std::make_unique<probes::GaugeReader>(std::move(executor), gauge_settings(*gauges));
  }
}

/// An engine that is slow in everything must be asked twice before it counts as dead.
void GaugeDriver::dead_after(Duration silence) {
  timeout_ = std::max(kSlowest, silence / 3);
}

void GaugeDriver::need(Need need) {
  if (!reader_ || need == need_) {
    return;
  }
  Need const before = std::exchange(need_, need);
  timer_.cancel();
  reader_->cancel();
  reported_.reset();
  if (need != Need::none) {
    ask();
  }
  if (before == Need::progress && need < Need::progress) {
    events_.feed(lifecycle::GaugesRead{});
  }
}

void GaugeDriver::read_anew() {
  if (reader_ && need_ == Need::drain) {
    timer_.cancel();
    reader_->cancel();
    ask();
  }
}

void GaugeDriver::ask() {
  reader_->read(timeout_, [this](probes::GaugeReading const& reading) { take(reading); });
}

void GaugeDriver::take(probes::GaugeReading const& reading) {
  note(reading);
  ranks_ = reading.ranks;
  timer_.expires_after(need_ == Need::drain ? drain_period_ : progress_period_);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      ask();
    }
  });
  report_load(reading);
  if (need_ != Need::load) {
    events_.feed(gauges_read(reading));
  }
  on_reading_();
}

/// All ranks are above a threshold if the one with the most room is.
void GaugeDriver::report_load(probes::GaugeReading const& reading) {
  constexpr double kWhole = 1'000'000;
  if (reading.kv_usage) {
    lifecycle::LoadReported load;
    load.active_decode_blocks =
        static_cast<std::uint64_t>(std::lround(std::clamp(*reading.kv_usage, 0.0, 1.0) * kWhole));
    load.kv_total_blocks = static_cast<std::uint64_t>(kWhole);
    events_.feed(load);
  }
}

void GaugeDriver::note(probes::GaugeReading const& reading) {
  std::string const line = reading.in_flight ? std::to_string(*reading.in_flight) : reading.problem;
  if (reported_ == line) {
    return;
  }
  reported_ = line;
  if (!reading.in_flight) {
    log_.warning("the engine's gauges cannot be read", {{"detail", reading.problem}});
  } else if (need_ == Need::drain) {
    log_.info("the engine's gauges show what is in flight", {{"in_flight", *reading.in_flight}});
  }
}

}  // namespace lastcall::runtime
