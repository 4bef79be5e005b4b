#include "supervisor/runtime/ingress/ingress_session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "config/presets.hpp"
#include "config/text.hpp"
#include "discovery/lookup.hpp"
#include "ingress/relay_threads.hpp"
#include "supervisor/runtime/ingress/ingress_options.hpp"
#include "supervisor/runtime/loop/own_signals.hpp"

namespace lastcall::runtime {
namespace {

/// The names of a search list are looked up one after the other, each at a second name server if
/// the first one is dead.
constexpr std::chrono::seconds kLongestLookup{30};

/// How soon a stop is noticed meanwhile.
constexpr std::chrono::milliseconds kLookForStop{20};

discovery::Lookup::Found look_up_until_a_stop(std::string const& host) {
  discovery::Lookup lookup;
  std::atomic<bool> const is_interrupted = false;
  auto const end = std::chrono::steady_clock::now() + kLongestLookup;
  while (true) {
    auto const now = std::chrono::steady_clock::now();
    auto const until = std::min<discovery::TimePoint>(end, now + kLookForStop);
    auto found = lookup.find(host, until, is_interrupted);
    if (!found.is_open || now >= end || OwnSignals::is_stop_waiting()) {
      return found;
    }
  }
}

/// `shortest` is the shortest possible phase 1. Every connection has had its turn when a quarter of
/// that time is left; clients that send a request in that quarter are notified, and connect to
/// another replica.
void close_over(ingress::Relay& relay, lifecycle::Duration shortest) {
  lifecycle::Duration const over = shortest - shortest / 4;
  relay.order([over](ingress::Proxy& proxy) { proxy.close_over(over); });
}

}  // namespace

IngressSession::IngressSession(boost::asio::io_context& io, config::Config const& config,
                               lifecycle::Lifecycle& core, EventSink& events,
                               probes::Metrics& metrics, telemetry::Log& log,
                               IngressReports::Listeners listeners,
                               IngressDecisions::OnCancelsTaken on_cancels_taken)
    : io_(io),
      config_(config),
      core_(core),
      events_(events),
      metrics_(metrics),
      log_(log),
      reports_(config.admission, events, metrics, log, with_cancels(std::move(listeners))),
      on_cancels_taken_(std::move(on_cancels_taken)) {}

std::string IngressSession::start() {
  if (!config_.ingress.enabled) {
    return {};
  }
  ingress::Options options = ingress_options(config_);
  config::EngineProfile const engine = config::resolve_engine(config_);
  std::string const problem = engine.upstream_socket.empty()
                                  ? look_up(engine.upstream, options.upstream)
                                  : ingress::resolve_unix(engine.upstream_socket, options.upstream);
  if (!problem.empty()) {
    return problem;
  }
  if (options.upstream.empty()) {
    return {};  // a stop did not wait for the engine's address, so there is nothing to serve
  }
  if (options.max_connections < config_.ingress.max_connections) {
    log_.warning(
        "the limit of open files is too low for ingress.max_connections",
        {{"wanted", config_.ingress.max_connections}, {"connections", options.max_connections}});
  }
  for (config::EndpointSettings const& endpoint : config_.endpoints) {
    events_.feed(lifecycle::EndpointRegistered{lifecycle::kIngressPeer, endpoint.name,
                                               endpoint.graceful_shutdown});
  }
  std::string const trouble = make_relay(options);
  heap_trim_ = std::make_unique<HeapTrim>(
      io_, relay_->memory(), [this](std::size_t bytes) { metrics_.ingress().set_buffers(bytes); });
  decisions_ = std::make_unique<IngressDecisions>(io_, core_, *relay_, on_cancels_taken_);
  door_ = std::make_unique<IngressDoor>(io_, config_.ingress, relay_->listener(), log_);
  return trouble.empty() ? door_->open() : trouble;
}

/// Nothing is served before the engine's address is known, so a name server that hangs is named and
/// not waited for without end. A stop does not wait for it: it finds nothing, without a problem.
std::string IngressSession::look_up(config::Address const& upstream,
                                    std::vector<ingress::Endpoint>& found) const {
  if (config::is_ip_literal(upstream.host)) {
    return ingress::resolve(upstream.host, upstream.port, found);
  }
  log_.info("looking up the engine's address", {{"host", upstream.host}});
  auto const [addresses, error, is_open] = look_up_until_a_stop(upstream.host);
  if (addresses.empty() && OwnSignals::is_stop_waiting()) {
    log_.info("a stop ends the lookup of the engine's address", {{"host", upstream.host}});
    return {};
  }
  for (std::string const& address : addresses) {
    if (std::string problem = ingress::resolve(address, upstream.port, found); !problem.empty()) {
      return problem;
    }
  }
  return addresses.empty() ? "ingress: " + error : "";
}

/// A request that the core has cut counts as one whose engine may be gone until it is cut here.
IngressReports::Listeners IngressSession::with_cancels(IngressReports::Listeners listeners) const {
  listeners.engine_may_be_gone = [this, may_be_gone = std::move(listeners.engine_may_be_gone)] {
    return (decisions_ && decisions_->has_cancels()) || may_be_gone();
  };
  return listeners;
}

std::string IngressSession::make_relay(ingress::Options const& options) {
  if (config_.ingress.threads == 1) {
    relay_ = std::make_unique<ingress::LoopRelay>(io_, options, reports_);
    return {};
  }
  auto pool =
      std::make_unique<ingress::RelayThreads>(io_, options, config_.ingress.threads, reports_);
  std::string const problem = pool->start();
  relay_ = std::move(pool);
  return problem.empty() ? "" : "ingress: " + problem;
}

// --- orders --------------------------------------------------------------------------------------

void IngressSession::phase(lifecycle::Phase phase) {
  if (!relay_) {
    return;
  }
  using lifecycle::Phase;
  if (phase < Phase::deregistering) {
    relay_->order([](ingress::Proxy& proxy) { proxy.keep_alive_again(); });
  } else {
    close_over(*relay_,
               phase == Phase::deregistering ? core_.late_accept() : lifecycle::Duration{0});
  }
  std::optional<lifecycle::Instant> const cut_at = core_.snapshot().cut_at;
  if (phase == Phase::draining && cut_at && config_.shutdown.hand_off == config::HandOff::early) {
    relay_->order([at = cut_at->time_since_epoch()](ingress::Proxy& proxy) {
      proxy.notify_of_cut(std::chrono::duration_cast<std::chrono::milliseconds>(at));
    });
  }
  if (phase >= Phase::draining) {
    relay_->order([](ingress::Proxy& proxy) { proxy.refuse(); });
  }
  door_->phase(phase, core_.snapshot());  // first, so that the last clients part, too
  if (phase >= Phase::drained) {
    relay_->order([](ingress::Proxy& proxy) { proxy.part(); });
  }
}

void IngressSession::end() {
  if (relay_) {
    door_->close();
  }
}

bool IngressSession::try_to_part() {
  if (!relay_) {
    return true;
  }
  relay_->order([](ingress::Proxy& proxy) { proxy.part_now(); });
  return decisions_->is_done() && relay_->is_flushed();
}

void IngressSession::checks_passed(lifecycle::Instant since) {
  if (relay_) {
    relay_->order([since](ingress::Proxy& proxy) { proxy.check_passed(since.time_since_epoch()); });
  }
}

void IngressSession::leave() {
  if (relay_) {
    close_over(*relay_, core_.late_accept());
  }
}

void IngressSession::refresh() {
  if (relay_) {
    relay_->engine_changed();
    door_->engine_changed(core_.snapshot());
  }
}

void IngressSession::after_cuts(std::function<void()> then) {
  if (decisions_) {
    decisions_->after(std::move(then));
  } else {
    boost::asio::post(io_, std::move(then));
  }
}

void IngressSession::admit(lifecycle::Admit const& order) {
  decisions_->decided(order.id, {ingress::Admission::Kind::admitted, {}});
}

void IngressSession::reject(lifecycle::Reject const& order) {
  decisions_->decided(order.id,
                      {ingress::Admission::Kind::refused, refusal_of(order, config_.admission)});
}

void IngressSession::cancels_ready() {
  if (decisions_) {
    decisions_->cancels_ready();
  }
}

void IngressSession::deliveries(std::vector<std::string> ids,
                                ingress::ReportDeliveries report) const {
  if (!relay_ || ids.empty()) {
    report(ingress::Deliveries(ids.size()));
    return;
  }
  struct Collected {
    std::mutex mutex;  // each proxy adds its own deliveries
    ingress::Deliveries found;
  };
  auto const all = std::make_shared<Collected>();
  all->found.resize(ids.size());
  relay_->order([all, asked = std::move(ids)](ingress::Proxy& proxy) {
    ingress::Deliveries own = proxy.deliveries(asked);
    std::lock_guard const lock(all->mutex);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i]) {  // only one proxy relays the live request with this id
        all->found[i] = std::move(own[i]);
      }
    }
  });
  relay_->after_orders([all, report = std::move(report)] { report(all->found); });
}

}  // namespace lastcall::runtime
