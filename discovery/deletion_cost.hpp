// Keeps the annotation by which a ReplicaSet's controller chooses the pods that a scale-down
// deletes. It is the number of requests in flight here, so that the pods with the least work go
// first.
//
// Invariants:
//  1. It is written at most once per `every`, and only if the number has changed by more than an
//     eighth of the last written one, or from or to 0, because each write loads the API server.
//  2. While the number of requests in flight is unknown, the last written number stays.
//  3. A failed write is tried again after `every`; a reason is reported once until a write
//     succeeds.
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

#include "discovery/http_thread.hpp"
#include "discovery/kubernetes_registry.hpp"
#include "discovery/kubernetes_session.hpp"

namespace lastcall::discovery {

/// Whether the new number differs enough to be written.
bool is_another_cost(std::optional<std::uint64_t> written, std::uint64_t now);

class DeletionCost : public std::enable_shared_from_this<DeletionCost> {
 public:
  /// `settings.deletion_cost.every` is not 0.
  DeletionCost(boost::asio::any_io_executor const& executor, KubernetesSettings const& settings);

  /// Begins to write, at once and then at intervals; a second call changes nothing.
  void start();
  void stop();

 private:
  void wait();
  void look();
  void ended(std::uint64_t cost, std::string const& failed);

  DeletionCostSettings const settings_;
  std::shared_ptr<KubernetesSession> session_;  // not the registry's, which another thread uses
  HttpThread thread_;
  boost::asio::steady_timer timer_;
  std::optional<std::uint64_t> written_;
  std::string reported_;
  bool is_running_ = false;
};

}  // namespace lastcall::discovery
