#include "discovery/deletion_cost.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lastcall::discovery {

namespace {

constexpr Duration kCostTime{5'000};  // for one write

/// The annotation is a 32-bit number.
constexpr std::uint64_t kLargestCost = std::numeric_limits<std::int32_t>::max();

}  // namespace

bool is_another_cost(std::optional<std::uint64_t> written, std::uint64_t now) {
  if (!written || *written == now) {
    return !written;
  }
  std::uint64_t const moved = std::max(*written, now) - std::min(*written, now);
  return *written == 0 || now == 0 || moved > *written / 8;
}

DeletionCost::DeletionCost(boost::asio::any_io_executor const& executor,
                           KubernetesSettings const& settings)
    : settings_(settings.deletion_cost),
      session_(std::make_shared<KubernetesSession>(settings)),
      thread_(executor, "kube-cost", settings.tls),
      timer_(executor) {}

void DeletionCost::start() {
  if (!std::exchange(is_running_, true)) {
    look();
  }
}

void DeletionCost::stop() {
  is_running_ = false;
  timer_.cancel();
  thread_.interrupt();
}

void DeletionCost::wait() {
  timer_.expires_after(settings_.every);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    auto const self = weak.lock();
    if (!error && self && self->is_running_) {
      self->look();
    }
  });
}

void DeletionCost::look() {
  auto const in_flight = settings_.in_flight();
  if (!in_flight || !is_another_cost(written_, std::min(*in_flight, kLargestCost))) {
    wait();
    return;
  }
  std::uint64_t const cost = std::min(*in_flight, kLargestCost);
  auto const failed = std::make_shared<std::string>();
  thread_.run(
      TimePoint::clock::now() + kCostTime,
      [session = session_, cost, failed](HttpClient& client, TimePoint until) {
        *failed = session->write_cost(client, until, cost);
      },
      [weak = weak_from_this(), cost, failed] {
        if (auto const self = weak.lock()) {
          self->ended(cost, *failed);
        }
      });
}

void DeletionCost::ended(std::uint64_t cost, std::string const& failed) {
  if (failed.empty()) {
    written_ = cost;
  } else if (failed != reported_ && is_running_) {
    settings_.on_failure(failed);
  }
  reported_ = failed;
  if (is_running_) {
    wait();
  }
}

}  // namespace lastcall::discovery
