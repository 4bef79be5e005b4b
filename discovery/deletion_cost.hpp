// The annotation by which the controller of a ReplicaSet chooses which pods a scale-down deletes:
// the requests in flight here, so that those with the least work go first.
//
// Invariants:
//  1. It is written at most once in `every`, and only where the number has moved by more than an
//     eighth of the last written one, or from or to 0: each pod's write is one at the API server.
//  2. Where it is unknown what is in flight, the last number stays.
//  3. A failed write is tried again in its time; a reason is reported once, until a write succeeds.
//
// Thread rule: the loop thread; requests run on a thread of their own. Source: Kubernetes,
// 'ReplicaSet', pod deletion cost (a hint; pods that are not ready go before all others).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "discovery/http_worker.hpp"
#include "discovery/kubernetes_registry.hpp"
#include "discovery/kubernetes_session.hpp"

namespace lastcall::discovery {

/// Whether another number is worth a write.
bool is_another_cost(std::optional<std::uint64_t> written, std::uint64_t now);

class DeletionCost : public std::enable_shared_from_this<DeletionCost> {
 public:
  /// `settings` have a time in `deletion_cost.every`.
  DeletionCost(boost::asio::any_io_executor const& executor, KubernetesSettings const& settings);

  /// Writes now, and from then on; the second time nothing changes.
  void start();
  void stop();

 private:
  void wait();
  void look();
  void ended(std::uint64_t cost, std::string const& failed);

  DeletionCostSettings const settings_;
  std::shared_ptr<KubernetesSession> session_;  // the registry's own is used on another thread
  HttpWorker worker_;
  boost::asio::steady_timer timer_;
  std::optional<std::uint64_t> written_;
  std::string reported_;
  bool is_running_ = false;
};

}  // namespace lastcall::discovery
