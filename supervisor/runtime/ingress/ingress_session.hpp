// Makes the ingress a peer of the core: relayed requests enter the ledger, and the core's decisions
// about them are carried out on their connections.
//
// Invariants:
//  1. A relayed request that counts begins, ends and is cancelled by the same events as a request
//     of an SDK.
//  2. No code of the proxy runs inside a step of the core: decisions made in a step are carried out
//     in the loop's next turn or by the proxy's threads, on the request for which they were made.
//  3. The listener is open from `starting` to the end of phase 2. After a stop it opens again with
//     the next engine, so it never opens again in a pod that ends, whether or not the end was
//     announced.
//
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ingress/relay.hpp"
#include "ingress/tracker.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/ingress/heap_trim.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"
#include "telemetry/sparse_log.hpp"

namespace lastcall::runtime {

class IngressSession final : private ingress::Tracker {
 public:
  struct Listeners {
    /// Whether the engine's process may have ended, with the shim's report of that still on its
    /// way.
    std::function<bool()> engine_may_be_gone;
    /// Whether the engine answers with an error that may mean its death, which would then be
    /// confirmed.
    std::function<bool()> engine_may_be_dying;
    /// Called when such an error is held back until that is known.
    std::function<void()> error_held;
    /// Called when cancels were taken from the core's list: `ids` of them, of at most `most`.
    std::function<void(std::size_t most, std::size_t ids)> cancels_taken;
    std::function<void()> request_began;
    std::function<void(ingress::HandedOff const&)> handed_off;
    /// Called when serving one socket took long, on this thread or on one of the ingress's own.
    std::function<void(std::string_view kind, std::chrono::steady_clock::duration took)> slow_turn;
  };

  IngressSession(boost::asio::io_context& io, config::Config const& config,
                 lifecycle::Lifecycle& core, EventSink& events, probes::Metrics& metrics, Log& log,
                 Listeners listeners);
  ~IngressSession() override;

  /// Returns the reason why it cannot listen; empty if it listens or the ingress is off.
  std::string start();
  /// The address at which it listens; empty if it does not listen.
  std::string const& address() const { return address_; }

  // The orders of the core.
  /// The decision on a request that waited. The decision on a request that begins is in begin()'s
  /// reply.
  void admit(lifecycle::Admit const& order);
  void reject(lifecycle::Reject const& order);
  void cancels_ready();
  void phase(lifecycle::Phase phase);
  /// The supervisor restarts: connections are closed as in the first phase of a drain.
  void leave();
  /// The process ends: a client that has connected gets an answer, or an orderly end of its
  /// connection.
  void end();

  /// The checks that have passed prove that the engine was alive at `since`.
  void checks_passed(lifecycle::Instant since);
  /// Called when the shim or the engine may have changed.
  void refresh();
  /// Calls back once all requests that the core has cut so far are cut and reported.
  void after_cuts(std::function<void()> then);
  /// Finds out what the clients of these requests have received, and reports it in this call or
  /// soon.
  void deliveries(std::vector<std::string> ids, ingress::ReportDeliveries report) const;
  /// The caller polls this until it returns true.
  bool is_flushed() { return !relay_ || (!turn_is_due_ && relay_->is_flushed()); }

 private:
  struct Decision {
    ingress::Request request;
    ingress::Admission admission;
  };

  enum class Listening : std::uint8_t { no, yes, with_next_engine };

  ingress::Admission begin(ingress::Begun const& begun) override;
  void moved(std::string_view id) override;
  void client_gone(std::string_view id, lifecycle::CancelMode mode) override;
  void ended(std::string_view id, lifecycle::Outcome outcome) override;
  void handed_off(ingress::HandedOff const& handed) override;
  bool engine_may_be_gone() const override {
    return cancels_are_due_ || listeners_.engine_may_be_gone();
  }
  bool engine_may_be_dying() const override { return listeners_.engine_may_be_dying(); }
  void error_held() override { listeners_.error_held(); }
  void first_byte(std::string_view id, std::string_view endpoint, std::string_view model,
                  std::chrono::milliseconds took) override;
  void event_gap(std::string_view endpoint, std::chrono::milliseconds took) override;
  void refused(relay::Refusal const& refusal) override;
  void evicted(ingress::Scarce what) override;
  void shed(ingress::Scarce what) override;
  void greeting_failed(ingress::GreetingFailed const& failed) override;
  void control_called(ingress::ControlCall const& call) override;
  void slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) override;
  void connections(std::size_t clients, std::size_t upstream) override;

  std::string make_relay(ingress::Options const& options);
  std::string secure();
  std::string listen();
  void listen_again();
  void stop_listening();
  relay::Refusal refusal_of(lifecycle::Reject const& order) const;
  void decided(std::string_view id, ingress::Admission admission);
  void carry_out();
  void cut_cancelled();

  boost::asio::io_context& io_;
  config::Config const& config_;
  lifecycle::Lifecycle& core_;
  EventSink& events_;
  probes::Metrics& metrics_;
  Log& log_;
  Listeners listeners_;
  std::unique_ptr<ingress::Relay> relay_;
  std::unique_ptr<HeapTrim> heap_trim_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::string address_;
  std::uint16_t port_ = 0;
  Listening listening_ = Listening::no;
  boost::asio::steady_timer last_arrivals_;

  std::vector<Decision> decisions_;
  bool turn_is_due_ = false;
  bool cancels_are_due_ = false;
  lifecycle::Instant reported_progress_;
  SparseLog refused_control_;
  SparseLog failed_greeting_;
};

}  // namespace lastcall::runtime
