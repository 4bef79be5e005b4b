#include "supervisor/runtime/engine/token_driver.hpp"

#include <utility>

#include "config/presets.hpp"
#include "config/text.hpp"
#include "core/report.hpp"
#include "supervisor/runtime/engine/gauge_driver.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::TokenOutcome;
using lifecycle::TokenUse;

constexpr probes::Duration kLook{5'000};
constexpr char const* kNoRank = "none";

probes::TokenRequestSettings settings_of(config::TokenProbe const& probe,
                                         std::vector<std::string> const& headers,
                                         std::string const& mark) {
  probes::TokenRequestSettings settings{.url = probe.url,
                                        .models_url = probe.models_url,
                                        .at_rest = {},
                                        .model = probe.model,
                                        .headers = {{"X-Lastcall-Probe", mark}}};
  for (config::AtRest const& each : probe.at_rest) {
    settings.at_rest.push_back({each.url, each.member});
  }
  for (std::string const& header : headers) {
    settings.headers.push_back(config::header_of(header));
  }
  return settings;
}

}  // namespace

TokenDriver::TokenDriver(boost::asio::any_io_executor executor, config::Config const& config,
                         EventSink& events, telemetry::Log& log, std::string mark, Gauges of_drain)
    : mark_(std::move(mark)), events_(events), log_(log), of_drain_(std::move(of_drain)) {
  config::EngineProfile const profile = config::resolve_engine(config);
  if (profile.probe) {
    request_ = std::make_unique<probes::TokenRequest>(
        executor, settings_of(*profile.probe, config.engine.probe.headers, mark_));
    rank_header_ = profile.probe->rank_header;
    proves_header_ = profile.probe->refuses_no_rank;
  }
  if (profile.probe && profile.gauges) {
    gauges_ =
        std::make_unique<probes::GaugeReader>(std::move(executor), gauge_settings(*profile.gauges));
  }
}

void TokenDriver::ask(lifecycle::AskToken const& order) {
  if (!request_) {
    return;
  }
  if (order.looks_first) {
    look(order);
  } else {
    send(order, of_drain_.ranks());
  }
}

void TokenDriver::withdraw() {
  if (request_) {
    request_->cancel();
  }
  if (gauges_) {
    gauges_->cancel();
  }
}

void TokenDriver::look(lifecycle::AskToken const& order) {
  if (!gauges_) {
    take(order, probes::TokenRequest::Outcome::asleep,
         "without its metrics it is unknown whether the engine is busy");
    return;
  }
  gauges_->read(kLook, [this, order](probes::GaugeReading const& reading) {
    if (reading.in_flight == 0U && reading.load.value_or(0) == 0) {
      send(order, reading.ranks);
      return;
    }
    // An engine that stalls in the middle of work can be detected only by its counters, which
    // are read from the first reading on that showed work.
    events_.feed(lifecycle::TokenAnswered{order.number, TokenOutcome::withheld});
    events_.feed(gauges_read(reading));
  });
}

void TokenDriver::send(lifecycle::AskToken const& order, std::vector<std::string> const& ranks) {
  ranks_left_.clear();
  bool const has_choice = ranks.size() > 1 && !rank_header_.empty();
  if (!has_choice && ranks.size() > 1 && order.use == TokenUse::barrier) {
    take(order, probes::TokenRequest::Outcome::refused,
         "the engine has " + std::to_string(ranks.size()) +
             " ranks, and none of them can be chosen");
    return;
  }
  if (!has_choice) {
    ranks_left_.emplace_back();
  } else if (order.use == TokenUse::barrier) {
    ranks_left_.assign(ranks.begin(), ranks.end());
  } else {
    ranks_left_.push_back(ranks[turn_++ % ranks.size()]);
  }
  if (has_choice && proves_header_ && order.use == TokenUse::barrier) {
    prove_header(order);
  } else {
    ask_first(order);
  }
}

/// An engine that ignores the header would answer for any rank.
void TokenDriver::prove_header(lifecycle::AskToken const& order) {
  request_->ask(
      has_left(order),
      [this, order](probes::TokenRequest::Outcome outcome, std::string const& detail) {
        if (outcome == probes::TokenRequest::Outcome::refused && detail == "status 400") {
          ask_next(order);
          return;
        }
        bool const is_ignored = outcome == probes::TokenRequest::Outcome::generated;
        take(order, is_ignored ? probes::TokenRequest::Outcome::refused : outcome,
             is_ignored ? "the engine ignores " + rank_header_ + ", so no rank can be chosen"
                        : detail);
      },
      probes::TokenRequest::Header{rank_header_, kNoRank});
}

probes::TokenRequest::Sent TokenDriver::has_left(lifecycle::AskToken const& order) {
  return [this, number = order.number] { events_.feed(lifecycle::TokenSent{number}); };
}

probes::TokenRequest::Done TokenDriver::has_answered(lifecycle::AskToken const& order) {
  return [this, order](probes::TokenRequest::Outcome outcome, std::string const& detail) {
    if (outcome == probes::TokenRequest::Outcome::generated && !ranks_left_.empty()) {
      ask_next(order);
    } else {
      take(order, outcome, detail);
    }
  };
}

void TokenDriver::ask_first(lifecycle::AskToken const& order) {
  std::string const rank = take_rank();
  auto const header =
      rank.empty() ? std::nullopt : std::optional(probes::TokenRequest::Header{rank_header_, rank});
  request_->ask(has_left(order), has_answered(order), header);
}

void TokenDriver::ask_next(lifecycle::AskToken const& order) {
  request_->again(has_left(order), has_answered(order), {rank_header_, take_rank()});
}

std::string TokenDriver::take_rank() {
  std::string rank = std::move(ranks_left_.front());
  ranks_left_.pop_front();
  return rank;
}

void TokenDriver::take(lifecycle::AskToken const& order, probes::TokenRequest::Outcome outcome,
                       std::string const& detail) {
  using Outcome = probes::TokenRequest::Outcome;
  TokenOutcome reported = TokenOutcome::generated;
  bool const is_bad = outcome == Outcome::refused || outcome == Outcome::empty;
  if (is_bad) {
    reported = outcome == Outcome::empty ? TokenOutcome::empty : TokenOutcome::refused;
    if (last_problem_ != detail || order.use == TokenUse::barrier) {
      log_.warning("the engine did not answer a request of one token with a token",
                   {{"use", name(order.use)}, {"detail", detail}});
    }
  } else if (outcome == Outcome::asleep) {
    reported = TokenOutcome::withheld;
    if (order.use == TokenUse::barrier) {
      log_.info("the request of one token is not sent: what is in flight stays unknown",
                {{"detail", detail}});
    }
  }
  last_problem_ = is_bad ? std::optional(detail) : std::nullopt;
  log_.debug("request of one token", {{"use", name(order.use)}, {"outcome", name(reported)}});
  events_.feed(lifecycle::TokenAnswered{order.number, reported});
  if (order.use == TokenUse::barrier) {
    of_drain_.read_anew();
  }
}

}  // namespace lastcall::runtime
