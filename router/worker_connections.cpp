#include "router/worker_connections.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "config/text.hpp"
#include "ingress/engine_pool.hpp"
#include "ingress/upstream.hpp"
#include "router/parts.hpp"

namespace lastcall::router {
namespace {

using Addresses = std::vector<ingress::Endpoint>;

bool is_same(ingress::Endpoint const& one, ingress::Endpoint const& other) {
  return one.size == other.size && std::memcmp(&one.address, &other.address, one.size) == 0;
}

/// The order is ignored, because name servers rotate it.
bool are_same(Addresses const& one, Addresses const& other) {
  return one.size() == other.size() &&
         std::is_permutation(one.begin(), one.end(), other.begin(), is_same);
}

}  // namespace

struct WorkerConnections::Pool final : ingress::Buried {
  static constexpr std::chrono::seconds kBetweenWords{10};

  Pool(boost::asio::io_context& io, Parts& with, std::string of, config::Address at)
      : parts(with), url(std::move(of)), address(std::move(at)), timer(io) {}

  void open(ingress::EngineTls tls) {
    if (tls.context != nullptr) {
      tls.failed = [this](std::string_view why) { tls_failed(why); };
    }
    connections.emplace(parts, addresses, std::move(tls));
  }

  void tls_failed(std::string_view why) {
    Time const now = monotonic_time();
    if (!notified_at || now - *notified_at > kBetweenWords) {
      notified_at = now;
      parts.log.warning("a TLS connection to a worker failed", {{"worker", url}, {"detail", why}});
    }
  }

  Parts& parts;
  std::string const url;
  config::Address const address;
  boost::asio::steady_timer timer;  // for the next lookup
  Addresses addresses{};
  std::optional<ingress::EnginePool> connections{};
  bool is_named = false;
  bool is_looked_up = false;  // a lookup is running
  Time looked_at{};
  unsigned failures = 0;  // failed lookups in a row
  std::optional<Time> notified_at{};
};

WorkerConnections::WorkerConnections(boost::asio::io_context& io, Parts& parts)
    : io_(io), parts_(parts), lookups_(io) {}

WorkerConnections::~WorkerConnections() = default;

std::string WorkerConnections::start() {
  WorkerTls const& tls = parts_.settings.worker_tls;
  return tls.ca_file || tls.cert_file ? load_tls() : "";
}

std::string WorkerConnections::load_tls() {
  WorkerTls const& files = parts_.settings.worker_tls;
  tls_ = std::make_unique<ingress::TlsClientContext>(
      ingress::TlsClientSettings{.authorities = files.ca_file.value_or(""),
                                 .certificate = files.cert_file.value_or(""),
                                 .key = files.key_file.value_or("")},
      [this](ingress::TlsReading const& reading) {
        if (reading.problem.empty()) {
          parts_.log.info("the files of worker_tls were read again");
        } else {
          parts_.log.error("cannot use the new files of worker_tls: the present ones stay in use",
                           {{"detail", reading.problem}});
        }
      });
  ingress::TlsReading const reading = tls_->load();
  if (!reading.problem.empty()) {
    tls_.reset();
    return "worker_tls: " + reading.problem;
  }
  if (!reading.warning.empty()) {
    parts_.log.warning("workers will refuse the certificate", {{"detail", reading.warning}});
  }
  return {};
}

std::string WorkerConnections::open(Worker const& worker) {
  std::optional<config::Url> url = config::parse_url(worker.url());
  if (!url || (url->scheme != "http" && url->scheme != "https")) {
    return "not an http or https URL";
  }
  ingress::EngineTls tls;
  if (url->scheme == "https") {
    if (std::string problem = tls_ ? "" : load_tls(); !problem.empty()) {
      return problem;
    }
    tls = {.context = tls_.get(),
           .name = parts_.settings.worker_tls.server_name.value_or(url->address.host)};
  }
  auto owner = std::make_unique<Pool>(io_, parts_, worker.url(), std::move(url->address));
  Pool& pool = *owner;
  pools_.emplace(worker.id(), std::move(owner));
  pool.addresses = known_address(pool.address.host, pool.address.port).addresses;
  pool.open(std::move(tls));
  if (pool.addresses.empty()) {
    pool.is_named = true;
    pool.connections->await_addresses();
    look_up(worker.id(), pool);
  }
  return {};
}

// --- names ---------------------------------------------------------------------------------------

void WorkerConnections::look_up(std::uint64_t id, Pool& pool) {
  pool.is_looked_up = true;
  pool.looked_at = monotonic_time();
  lookups_.find(pool.address.host, pool.address.port, [this, id](Resolved const& found) {
    if (auto const at = pools_.find(id); at != pools_.end()) {
      came(id, *at->second, found);
    }
  });
}

void WorkerConnections::look_up_in(std::uint64_t id, Pool& pool, std::chrono::milliseconds wait) {
  auto const part = static_cast<std::uint64_t>(wait.count()) / 4;
  pool.timer.expires_after(wait + std::chrono::milliseconds(parts_.ids.draw() % (part + 1)));
  // The handler of an expired timer runs even if the worker has left in the meantime.
  pool.timer.async_wait([this, id](boost::system::error_code const& error) {
    auto const at = pools_.find(id);
    if (!error && at != pools_.end() && !at->second->is_looked_up) {
      look_up(id, *at->second);
    }
  });
}

void WorkerConnections::look_up_soon(std::uint64_t id, Pool& pool) {
  if (pool.is_named && !pool.is_looked_up && monotonic_time() - pool.looked_at >= kSoonest) {
    look_up(id, pool);
  }
}

void WorkerConnections::came(std::uint64_t id, Pool& pool, Resolved const& found) {
  pool.is_looked_up = false;
  if (!found.error.empty()) {
    if (pool.failures == 0) {
      parts_.log.warning("a worker's name cannot be looked up",
                         {{"worker", pool.url},
                          {"detail", found.error},
                          {"last_address_holds", !pool.addresses.empty()}});
    }
    constexpr unsigned kMostNameDoublings = 6;
    auto const wait =
        std::min(kSoonest * (1U << std::min(pool.failures++, kMostNameDoublings)), kLatest);
    if (pool.addresses.empty()) {
      pool.connections->addresses_came();
    }
    look_up_in(id, pool, wait);
    return;
  }
  bool const was_lost = std::exchange(pool.failures, 0) > 0;
  bool const is_another = !are_same(pool.addresses, found.addresses);
  if (is_another && !pool.addresses.empty()) {
    parts_.log.info("a worker's address has changed", {{"worker", pool.url}});
  } else if (was_lost) {
    parts_.log.info("a worker's name can be looked up again", {{"worker", pool.url}});
  }
  if (is_another) {
    pool.addresses = found.addresses;
    pool.connections->addresses_came();
  }
  look_up_in(id, pool, parts_.settings.timeouts.lookup);
}

// --- connections ---------------------------------------------------------------------------------

void WorkerConnections::close(Worker const& worker) {
  auto const found = pools_.find(worker.id());
  if (found != pools_.end()) {
    found->second->timer.cancel();
    found->second->connections->close_kept();
    swept(worker);
  }
}

ingress::Upstream* WorkerConnections::acquire(Worker const& worker, bool fresh) {
  auto const found = pools_.find(worker.id());
  if (found == pools_.end()) {
    return nullptr;
  }
  ingress::Upstream* const made = found->second->connections->acquire(fresh);
  if (made == nullptr) {
    look_up_soon(worker.id(), *found->second);
  }
  return made;
}

void WorkerConnections::avoid(Worker const& worker, std::size_t address) {
  auto const found = pools_.find(worker.id());
  if (found != pools_.end()) {
    found->second->connections->avoid_address(address);
    look_up_soon(worker.id(), *found->second);
  }
}

void WorkerConnections::swept(Worker const& worker) {
  auto const found = pools_.find(worker.id());
  if (worker.has_left() && found != pools_.end() && found->second->connections->size() == 0) {
    parts_.poller.bury_unwatched(std::move(found->second));
    pools_.erase(found);
  }
}

}  // namespace lastcall::router
