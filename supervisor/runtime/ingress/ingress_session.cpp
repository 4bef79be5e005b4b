#include "supervisor/runtime/ingress/ingress_session.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <sys/socket.h>

#include "config/presets.hpp"
#include "ingress/worker_pool.hpp"
#include "ipc/server.hpp"
#include "probes/listener/listening_socket.hpp"
#include "supervisor/runtime/ingress/ingress_options.hpp"

namespace lastcall::runtime {
namespace {

constexpr int kBacklog = 4096;
/// Connections that have begun are complete after this time, if both ends are well.
constexpr lifecycle::Duration kLastArrivals{100};
/// The shortest time between two log lines that an unknown client can cause.
constexpr lifecycle::Duration kStrangersPeriod{10'000};

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
                               probes::Metrics& metrics, Log& log, Listeners listeners)
    : io_(io),
      config_(config),
      core_(core),
      events_(events),
      metrics_(metrics),
      log_(log),
      listeners_(std::move(listeners)),
      port_(config.ingress.listen.port),
      last_arrivals_(io),
      refused_control_(kStrangersPeriod),
      failed_greeting_(kStrangersPeriod) {}

IngressSession::~IngressSession() {
  *alive_ = false;
}

std::string IngressSession::start() {
  if (!config_.ingress.enabled) {
    return {};
  }
  ingress::Options options = ingress_options(config_);
  config::EngineProfile const engine = config::resolve_engine(config_);
  std::string const problem =
      engine.upstream_socket.empty()
          ? ingress::resolve(engine.upstream.host, engine.upstream.port, options.upstream)
          : ingress::resolve_unix(engine.upstream_socket, options.upstream);
  if (!problem.empty()) {
    return problem;
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
  std::string trouble = make_relay(options);
  heap_trim_ = std::make_unique<HeapTrim>(
      io_, relay_->memory(), [this](std::size_t bytes) { metrics_.set_ingress_buffers(bytes); });
  if (trouble.empty()) {
    trouble = secure();
  }
  return trouble.empty() ? listen() : trouble;
}

std::string IngressSession::make_relay(ingress::Options const& options) {
  ingress::Tracker& tracker = *this;
  if (config_.ingress.threads == 1) {
    relay_ = std::make_unique<ingress::LoopRelay>(io_, options, tracker);
    return {};
  }
  auto pool = std::make_unique<ingress::WorkerPool>(io_, options, config_.ingress.threads, tracker);
  std::string const problem = pool->start();
  relay_ = std::move(pool);
  return problem.empty() ? "" : "ingress: " + problem;
}

std::string IngressSession::secure() {
  config::IngressTls const& tls = config_.ingress.tls;
  if (!tls.cert_file || !tls.key_file) {
    return {};
  }
  auto const warn = [this](std::string const& warning) {
    if (!warning.empty()) {
      log_.warning("clients will refuse the ingress's certificate", {{"detail", warning}});
    }
  };
  auto context = std::make_unique<ingress::TlsContext>(
      tls_settings(tls), [this, warn](ingress::TlsReading const& reading) {
        if (reading.problem.empty()) {
          log_.info("the ingress has read its certificate again");
          warn(reading.warning);
        } else {
          log_.error("cannot use the new certificate: the ingress keeps its present one",
                     {{"detail", reading.problem}});
        }
      });
  ingress::TlsReading const reading = context->load();
  warn(reading.warning);
  relay_->listener().secure(std::move(context));
  return reading.problem.empty() ? "" : "ingress.tls: " + reading.problem;
}

std::string IngressSession::listen() {
  probes::ListeningSocket socket =
      probes::open_listening_socket(config_.ingress.listen.host, port_);
  if (!socket.error.empty()) {
    return "ingress: " + socket.error;
  }
  ::listen(socket.descriptor.get(), kBacklog);
  port_ = socket.port;  // routers know the port that was free the first time
  address_ = probes::address_text(socket.host, socket.port);
  relay_->listener().open(socket.descriptor.release());
  listening_ = Listening::yes;
  return {};
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
  if (phase >= Phase::cleaning_up) {
    stop_listening();
  }
  if (phase >= Phase::drained) {
    relay_->order([](ingress::Proxy& proxy) { proxy.part(); });
  }
  if (phase < Phase::cleaning_up && listening_ == Listening::no) {
    listening_ = Listening::with_next_engine;
  }
  listen_again();
}

/// In a pod that ends, no next engine comes.
void IngressSession::listen_again() {
  lifecycle::Snapshot const now = core_.snapshot();
  bool const has_engine = now.shim_connected || now.phase >= lifecycle::Phase::serving;
  if (listening_ != Listening::with_next_engine || !has_engine || now.deletion_seen) {
    return;
  }
  listening_ = Listening::no;
  last_arrivals_.cancel();
  relay_->listener().close();
  if (std::string const problem = listen(); !problem.empty()) {
    log_.error("the ingress cannot listen again", {{"detail", problem}});
  }
}

/// Clients that are connecting at this moment are accepted, and notified that this replica is
/// leaving.
void IngressSession::stop_listening() {
  if (std::exchange(listening_, Listening::no) != Listening::yes) {
    return;
  }
  relay_->listener().take_no_newcomers();
  last_arrivals_.expires_after(kLastArrivals);
  last_arrivals_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      relay_->listener().close();
    }
  });
}

void IngressSession::end() {
  if (relay_) {
    last_arrivals_.cancel();
    relay_->listener().close();
    relay_->order([](ingress::Proxy& proxy) { proxy.part_now(); });
  }
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
    listen_again();
  }
}

/// `then` is called after the turn that carries out everything decided until now.
void IngressSession::after_cuts(std::function<void()> then) {
  boost::asio::post(io_, [this, alive = alive_, then = std::move(then)] {
    if (*alive) {
      relay_ ? relay_->after_orders(then) : then();
    }
  });
}

void IngressSession::admit(lifecycle::Admit const& order) {
  decided(order.id, {ingress::Admission::Kind::admitted, {}});
}

void IngressSession::reject(lifecycle::Reject const& order) {
  decided(order.id, {ingress::Admission::Kind::refused, refusal_of(order)});
}

relay::Refusal IngressSession::refusal_of(lifecycle::Reject const& order) const {
  relay::Refusal refusal = order.silent
                               ? relay::engine_silent(order.retry_after)
                               : relay::rejected_because(order.reason, order.retry_after,
                                                         config_.admission.overload_status);
  refusal.limit = order.limit;
  refusal.count = order.count;
  refusal.excess = order.excess;
  return refusal;
}

/// Before the turn comes, the request may end, and another one may come with the same id.
void IngressSession::decided(std::string_view id, ingress::Admission admission) {
  if (std::uint64_t const serial = relay_->serial_of(id); serial != 0) {
    decisions_.push_back({{std::string(id), serial}, admission});
    carry_out();
  }
}

void IngressSession::cancels_ready() {
  cancels_are_due_ = true;
  carry_out();
}

/// The decisions are carried out in the next turn, because this one may be in the middle of a step.
void IngressSession::carry_out() {
  if (!relay_ || std::exchange(turn_is_due_, true)) {
    return;
  }
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) {
      return;
    }
    turn_is_due_ = false;
    for (Decision const& decision : std::exchange(decisions_, {})) {
      if (decision.admission.kind == ingress::Admission::Kind::admitted) {
        relay_->admitted(decision.request);
      } else {
        relay_->rejected(decision.request, decision.admission.refusal);
      }
    }
    if (std::exchange(cancels_are_due_, false)) {
      cut_cancelled();
    }
  });
}

void IngressSession::cut_cancelled() {
  while (true) {
    lifecycle::CancelBatch const batch =
        core_.take_cancels(lifecycle::kIngressPeer, ipc::kMaxBatch);
    // The views end with the next event, and cutting feeds events.
    std::vector<std::string> const ids(batch.ids.begin(), batch.ids.end());
    lifecycle::CancelMode const mode = batch.mode;
    relay::Refusal const refusal = relay::cut_by(batch.reason);
    listeners_.cancels_taken(ipc::kMaxBatch, ids.size());
    if (ids.empty()) {
      return;
    }
    for (std::string const& id : ids) {
      relay_->cut({id, relay_->serial_of(id)}, refusal, mode == lifecycle::CancelMode::kill);
    }
  }
}

}  // namespace lastcall::runtime
