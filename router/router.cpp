#include "router/router.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>
#include <sys/socket.h>

#include "base/address_text.hpp"
#include "base/clock.hpp"
#include "config/schema.hpp"
#include "ingress/clients.hpp"
#include "ingress/listener.hpp"
#include "probes/listener/listening_socket.hpp"
#include "router/load_control.hpp"
#include "router/metrics.hpp"
#include "router/operators.hpp"
#include "router/options.hpp"
#include "router/own_end.hpp"
#include "router/parts.hpp"
#include "router/routed_request.hpp"
#include "router/source_log.hpp"
#include "router/worker_sources.hpp"
#include "telemetry/reload_log.hpp"

namespace lastcall::router {
namespace {

namespace asio = boost::asio;
constexpr int kBacklog = 4096;

/// Returns the reason why clients cannot be served; empty if they can.
std::string secure(ingress::Listener& listener, Tls const& tls, telemetry::Log& log) {
  if (!tls.cert_file) {
    return {};
  }
  auto context = std::make_unique<ingress::TlsContext>(
      ingress::TlsSettings{.certificate = *tls.cert_file,
                           .key = tls.key_file.value_or(""),
                           .client_authorities = {},
                           .ciphers = config::IngressTls{}.ciphers},
      [&log](ingress::TlsReading const& reading) {
        if (reading.problem.empty()) {
          log.info("the certificate was read again");
        } else {
          log.error("cannot use the new certificate: the present one stays in use",
                    {{"detail", reading.problem}});
        }
      });
  ingress::TlsReading const reading = context->load();
  if (reading.problem.empty() && !reading.warning.empty()) {
    log.warning("clients will refuse the certificate", {{"detail", reading.warning}});
  }
  listener.secure(std::move(context));
  return reading.problem.empty() ? "" : "tls: " + reading.problem;
}

}  // namespace

struct Router::State final : private ingress::ConnectionObserver, private ingress::RequestMaker {
  State(Settings const& set, config::LoadOptions options, telemetry::Log& logged)
      : settings(set),
        loaded_from(std::move(options)),
        log(logged),
        memory(options_of(set).max_buffer_memory),
        parts(io, options_of(set), *this, memory, *this, settings, metrics, log),
        clients(parts, [this] { listener.client_left(); }),
        listener(
            io, {parts.options.max_connections, std::nullopt},
            {.take = [this](ingress::Accepted accepted) { clients.adopt(std::move(accepted)); },
             .refused = [this](relay::Refusal const& refusal) { refused(refusal); },
             .shed = [](ingress::Scarce) {},
             .slow = [this](std::string_view kind,
                            ingress::Poller::Duration took) { slow_turn(kind, took); }}),
        own_end(io, parts, clients, listener,
                [this] {
                  log.info("the router has ended");
                  io.stop();
                }),
        operators(set.operators, metrics, set.rejection, logged,
                  [this](probes::ThresholdCall call, probes::Responder responder) {
                    asio::post(io, [this, call = std::move(call), responder] {
                      responder.send(load.answer(call));
                    });
                  }) {}

  // --- start ---

  std::string start() {
    if (std::string problem = parts.connections.start(); !problem.empty()) {
      return problem;
    }
    load.configure();
    parts.probes.listen([this](std::string const& url, std::string const& line) {
      operators.know_worker(url, line);
    });
    sources.follow(settings.workers);
    if (std::string problem = secure(listener, settings.tls, log); !problem.empty()) {
      return problem;
    }
    probes::ListeningSocket socket =
        probes::open_listening_socket(settings.listen.host, settings.listen.port);
    if (!socket.error.empty()) {
      return "listen: " + socket.error;
    }
    if (std::optional<std::string> problem = operators.start()) {
      return "operators: " + *problem;
    }
    ::listen(socket.descriptor.get(), kBacklog);
    log.info("the router listens", {{"clients", address_text(socket.host, socket.port)},
                                    {"operators", operators.address()},
                                    {"workers", parts.fleet.workers().size()}});
    listener.open(socket.descriptor.release());
    await_signal();
    return {};
  }

  void source_read(std::size_t number, std::string const& source, std::string const& problem) {
    source_log.was_read(number, source, problem);
    metrics.source_failed(source, source_log.troubles().has(source));
    if (std::optional<std::string> lines = source_log.troubles().changed_text()) {
      operators.know_troubled(std::move(*lines));
    }
  }

  void took(std::size_t source, std::string const& name, std::vector<Announced> const& workers) {
    Fleet::News const news = parts.fleet.set(source, workers);
    source_log.know_name(source, name, !workers.empty());
    source_log.note(news.conflicts);
    parts.departed.note(parts.fleet, news, monotonic_time());
    for (auto const& worker : news.left) {
      parts.connections.close(*worker);
      load.left(*worker);
      parts.probes.forget(*worker);
      log.info("a worker has left", {{"worker", worker->url()}});
    }
    for (auto const& worker : news.came) {
      load.came(worker);
      std::string const problem = parts.connections.open(*worker);
      if (problem.empty()) {
        log.info("a worker has joined", {{"worker", worker->url()}, {"model", worker->model()}});
      } else {
        log.warning("a worker cannot be reached", {{"worker", worker->url()}, {"detail", problem}});
      }
      parts.probes.follow(worker);
    }
    if (!news.came.empty()) {
      parts.waiting.wake();
    }
    metrics.workers(parts.fleet.workers().size(), news.left.size());
    operators.know_workers(!parts.fleet.workers().empty());
  }

  // --- its own end ---

  void await_signal() {
    signals.async_wait([this](boost::system::error_code const& error, int signal) {
      if (!error && signal == SIGHUP) {
        reload();
      } else if (!error) {
        stop(signal);
      }
      if (!error) {
        await_signal();  // a second signal changes nothing
      }
    });
  }

  void reload() {
    log.info("reload requested", {{"by", "signal HUP"}});
    if (own_end.has_begun()) {
      log.warning("cannot reload while the router shuts down: the configuration stays as it is");
      return;
    }
    LoadedSettings loaded = load_settings(loaded_from, config::process_environment());
    config::Keys const now = keys_of(settings);
    config::Keys const wanted = keys_of(loaded.settings);
    telemetry::Reload const reload =
        telemetry::compared(loaded.errors, {}, [&] { return config::differences(now, wanted); });
    if (reload.errors.empty()) {
      config::apply_live(now, wanted);
      log.set_level(settings.log.level);
      settings.workers = std::move(loaded.settings.workers);
      settings.rejection.thresholds = std::move(loaded.settings.rejection.thresholds);
      load.configure();
      parts.probes.configure();
      sources.follow(settings.workers);
    }
    telemetry::report(reload, "needs a restart of the router", log);
  }

  void stop(int signal) {
    std::size_t const in_flight = parts.live.size();
    if (!own_end.begin()) {
      log.info("signal ignored: the router is already shutting down", {{"signal", signal}});
      return;
    }
    operators.end();
    log.info("the router is shutting down", {{"signal", signal},
                                             {"in_flight", in_flight},
                                             {"grace_ms", settings.shutdown.grace_period.count()}});
  }

  // --- ConnectionObserver ---

  void refused(relay::Refusal const& refusal) override {
    metrics.refused(refusal.reason.empty() ? refusal.type : refusal.reason);
  }
  void control_called(ingress::ControlCall const& /*call*/) override {}
  void greeting_failed(ingress::GreetingFailed const& failed) override {
    log.debug("a client's TLS handshake failed", {{"address", failed.address}});
  }
  void evicted(ingress::Scarce /*what*/) override { metrics.refused("evicted"); }
  void shed(ingress::Scarce /*what*/) override {}
  void slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) override {
    log.debug("serving one socket took a long time",
              {{"kind", kind},
               {"took_ms", std::chrono::duration_cast<std::chrono::milliseconds>(took).count()}});
  }
  void connections(std::size_t open_clients, std::size_t upstream) override {
    metrics.connections(open_clients, upstream);
  }

  // --- RequestMaker ---

  std::unique_ptr<ingress::ClientRequest> make(ingress::RequestClient const& client,
                                               relay::TakenHead const& taken, bool /*is_closed*/,
                                               bool /*is_control*/) override {
    return std::make_unique<RoutedRequest>(parts, client, taken);
  }

  Settings settings;  // the parts see changes of live keys here
  config::LoadOptions const loaded_from;
  telemetry::Log& log;
  asio::io_context io{1};
  asio::signal_set signals{io, SIGTERM, SIGINT, SIGHUP};
  Metrics metrics;
  ingress::MemoryBudget memory;
  Parts parts;
  ingress::Clients clients;
  ingress::Listener listener;
  OwnEnd own_end;
  Operators operators;
  SourceLog source_log{io, log};
  LoadControl load{io, parts};
  WorkerSources sources{
      io,
      {.found = [this](std::size_t number, std::string const& source,
                       std::vector<Announced> const& workers) { took(number, source, workers); },
       .troubled = [this](std::size_t number, std::string const& source,
                          std::string const& problem) { source_read(number, source, problem); },
       .skipped =
           [this](std::string const& what, std::string const& problem) {
             log.warning("skipping an entry that is not a worker",
                         {{"what", what}, {"detail", problem}});
           }}};
};

Router::Router(Settings const& settings, config::LoadOptions options, telemetry::Log& log)
    : state_(std::make_unique<State>(settings, std::move(options), log)) {}

Router::~Router() = default;

std::string Router::start() {
  return state_->start();
}

void Router::run() {
  state_->io.run();
}

}  // namespace lastcall::router
