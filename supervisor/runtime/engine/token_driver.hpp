// Sends a request for one token when the core orders it, and reports its outcome.
//
// Rules:
//  1. Only one request runs at a time. If no peer counts requests, no canary is sent to an engine
//     whose gauges show work or cannot be read.
//  2. An answer that proves nothing is reported once per reason: barrier and canary are useless
//     until the cause is fixed.
//  3. The request goes to the engine itself, past the ingress and its counts. It carries a mark
//     that only the engine's SDKs get, so no client's request can be mistaken for it.
//  4. One answer proves one data-parallel rank: a barrier sends a request to each rank in turn, and
//     proves nothing if a request cannot be sent to one of them. Each canary goes to the next rank.
//  5. If older versions of an engine ignore the header that chooses a rank, a request whose header
//     contains no number is sent first: only its refusal shows that the engine reads the header.
//
// Thread rule: the loop's thread. Source: specification, 'Where in-flight comes from'.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/action.hpp"
#include "probes/checks/gauge_reader.hpp"
#include "probes/checks/token_request.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class TokenDriver {
 public:
  struct Gauges {
    /// Returns the ranks that the last reading showed.
    std::function<std::vector<std::string>()> ranks;
    /// Called when a barrier was answered, so that earlier readings prove nothing.
    std::function<void()> read_anew;
  };

  /// `mark` is the value of X-Lastcall-Probe; it cannot be guessed.
  TokenDriver(boost::asio::any_io_executor executor, config::Config const& config,
              EventSink& events, telemetry::Log& log, std::string mark, Gauges of_drain);

  /// Returns the reason why no request can be made; empty if one can.
  std::string problem() const { return request_ ? request_->problem() : std::string{}; }
  std::string const& mark() const { return mark_; }
  void ask(lifecycle::AskToken const& order);
  void withdraw();

 private:
  void look(lifecycle::AskToken const& order);
  void send(lifecycle::AskToken const& order, std::vector<std::string> const& ranks);
  void prove_header(lifecycle::AskToken const& order);
  void ask_first(lifecycle::AskToken const& order);
  void ask_next(lifecycle::AskToken const& order);
  probes::TokenRequest::Sent has_left(lifecycle::AskToken const& order);
  probes::TokenRequest::Done has_answered(lifecycle::AskToken const& order);
  std::string take_rank();
  void take(lifecycle::AskToken const& order, probes::TokenRequest::Outcome outcome,
            std::string const& detail);

  std::string const mark_;
  std::unique_ptr<probes::TokenRequest> request_;  // null if this engine gets no such request
  std::unique_ptr<probes::GaugeReader> gauges_;    // null if it has no gauges
  EventSink& events_;
  telemetry::Log& log_;
  Gauges of_drain_;
  std::string rank_header_;
  bool proves_header_ = false;
  std::deque<std::string> ranks_left_;       // for this order; an empty text means any rank
  std::size_t turn_ = 0;                     // the next rank for a canary
  std::optional<std::string> last_problem_;  // why the last answer proved nothing
};

}  // namespace lastcall::runtime
