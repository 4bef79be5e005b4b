#include "supervisor/runtime/ingress/ingress_door.hpp"

#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <sys/socket.h>

#include "base/address_text.hpp"
#include "probes/listener/listening_socket.hpp"
#include "supervisor/runtime/ingress/ingress_options.hpp"

namespace lastcall::runtime {
namespace {

constexpr int kBacklog = 4096;
/// Connections that have begun are complete after this time, if both ends are well.
constexpr lifecycle::Duration kLastArrivals{100};

}  // namespace

IngressDoor::IngressDoor(boost::asio::io_context& io, config::Ingress const& config,
                         ingress::Listener& listener, telemetry::Log& log)
    : config_(config),
      listener_(listener),
      log_(log),
      port_(config.listen.port),
      last_arrivals_(io) {}

std::string IngressDoor::open() {
  std::string const trouble = secure();
  return trouble.empty() ? listen() : trouble;
}

std::string IngressDoor::secure() {
  config::IngressTls const& tls = config_.tls;
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
  listener_.secure(std::move(context));
  return reading.problem.empty() ? "" : "ingress.tls: " + reading.problem;
}

std::string IngressDoor::listen() {
  probes::ListeningSocket socket = probes::open_listening_socket(config_.listen.host, port_);
  if (!socket.error.empty()) {
    return "ingress: " + socket.error;
  }
  ::listen(socket.descriptor.get(), kBacklog);
  port_ = socket.port;  // routers know the port that was free the first time
  address_ = address_text(socket.host, socket.port);
  listener_.open(socket.descriptor.release());
  listening_ = Listening::yes;
  return {};
}

void IngressDoor::phase(lifecycle::Phase phase, lifecycle::Snapshot const& now) {
  if (phase >= lifecycle::Phase::cleaning_up) {
    take_no_newcomers();
  } else if (listening_ == Listening::no) {
    listening_ = Listening::with_next_engine;
  }
  engine_changed(now);
}

/// In a pod that ends, no next engine comes.
void IngressDoor::engine_changed(lifecycle::Snapshot const& now) {
  bool const has_engine = now.shim_connected || now.phase >= lifecycle::Phase::serving;
  if (listening_ != Listening::with_next_engine || !has_engine || now.deletion_seen) {
    return;
  }
  listening_ = Listening::no;
  close();
  if (std::string const problem = listen(); !problem.empty()) {
    log_.error("the ingress cannot listen again", {{"detail", problem}});
  }
}

/// Clients that are connecting at this moment are accepted, and notified that this replica is
/// leaving.
void IngressDoor::take_no_newcomers() {
  if (std::exchange(listening_, Listening::no) != Listening::yes) {
    return;
  }
  listener_.take_no_newcomers();
  last_arrivals_.expires_after(kLastArrivals);
  last_arrivals_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      listener_.close();
    }
  });
}

void IngressDoor::close() {
  last_arrivals_.cancel();
  listener_.close();
}

}  // namespace lastcall::runtime
