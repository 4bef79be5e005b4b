#include "probes/checks/replacement_watch.hpp"

#include <utility>

namespace lastcall::probes {
namespace {

/// The kernel accepts connections for a hung engine, so one attempt needs a limit of its own.
constexpr Duration kLookPatience{1'000};

}  // namespace

std::string ReplacementEvidence::refused() {
  was_refused_ = true;
  return end_is_due_ || was_accepted_ ? "its port refused a connection" : "";
}

std::string ReplacementEvidence::accepted() {
  was_accepted_ = true;
  return was_refused_ ? "its port accepts connections again" : "";
}

std::string ReplacementEvidence::start_time(std::uint64_t seconds) {
  bool const changed = start_time_ && *start_time_ != seconds;
  start_time_ = seconds;
  return changed ? "its process_start_time_seconds changed" : "";
}

ReplacementWatch::ReplacementWatch(boost::asio::any_io_executor executor,
                                   ReplacementSettings const& settings,
                                   std::function<void(std::string how)> on_replaced)
    : on_replaced_(std::move(on_replaced)),
      connect_(make_tcp_check(executor, {settings.host, settings.port})),
      timer_(executor) {
  if (!settings.metrics_url.empty()) {
    reader_ = std::make_unique<GaugeReader>(std::move(executor),
                                            GaugeSettings{.url = settings.metrics_url,
                                                          .running = "process_start_time_seconds",
                                                          .waiting = {},
                                                          .tokens = {}});
  }
}

ReplacementWatch::~ReplacementWatch() {
  stop();
}

void ReplacementWatch::start(bool condemned) {
  stop();
  evidence_.emplace(condemned);
  look();
}

void ReplacementWatch::stop() {
  evidence_.reset();
  timer_.cancel();
  connect_->cancel();
  if (reader_) {
    reader_->cancel();
  }
}

void ReplacementWatch::ordered_to_end() {
  if (evidence_) {
    evidence_->ordered_to_end();
  }
}

void ReplacementWatch::look() {
  connect_->start(kLookPatience, [this](CheckOutcome const& outcome) { take(outcome); });
}

void ReplacementWatch::look_again() {
  timer_.expires_after(kInterval);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error && evidence_) {
      look();
    }
  });
}

void ReplacementWatch::take(CheckOutcome const& outcome) {
  bool const is_accepted = outcome.result == CheckResult::passed;
  bool const is_refused = outcome.result == CheckResult::failed_definite;
  if (is_settled(is_accepted  ? evidence_->accepted()
                 : is_refused ? evidence_->refused()
                              : std::string())) {
    return;
  }
  if (is_accepted && reader_) {
    ask_start_time();
  } else {
    look_again();
  }
}

void ReplacementWatch::ask_start_time() {
  reader_->read(kLookPatience, [this](GaugeReading const& reading) {
    if (!reading.in_flight || !is_settled(evidence_->start_time(*reading.in_flight))) {
      look_again();
    }
  });
}

bool ReplacementWatch::is_settled(std::string const& how) {
  if (how.empty()) {
    return false;
  }
  stop();
  on_replaced_(how);
  return true;
}

}  // namespace lastcall::probes
