// Threads that relay, and their one connection to the core: their reports go to the Tracker on the
// loop's thread, and its decisions are mailed back.
//
// Invariants:
//  1. A decision names its request by id and serial, here and in the thread: a request that ended
//     meanwhile, and a later one with the same id, are not affected.
//  2. The loop's thread accepts, so that max_connections is one limit for all threads.
//
// Thread rule: the loop's thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ingress/crew.hpp"
#include "ingress/live_ids.hpp"
#include "ingress/relay.hpp"
#include "ingress/report.hpp"
#include "ingress/report_reader.hpp"

namespace lastcall::ingress {

class RelayThreads final : public Relay {
 public:
  RelayThreads(boost::asio::io_context& io, Options const& options, unsigned threads,
               Tracker& tracker);
  ~RelayThreads() override;

  /// Returns an empty text, or the reason why there are no threads.
  std::string start();

  Listener& listener() override { return listener_; }
  void order(Order const& order) override;
  std::uint64_t serial_of(std::string_view id) const override;
  void admitted(Request const& request) override;
  void rejected(Request const& request, relay::Refusal const& refusal) override;
  void cut(Request const& request, relay::Refusal const& refusal, bool at_once) override;
  void engine_changed() override;
  void after_orders(std::function<void()> then) override;
  bool is_flushed() override;
  MemoryBudget& memory() override { return memory_; }

 private:
  ReportMailer::Mail mail_of(std::size_t seat);
  /// The thread of a request, if the request with that id is still the same one.
  RelayThread* thread_of(Request const& request) const;
  /// Calls back once all threads have carried out their orders.
  void ask(std::function<void(bool is_flushed)> const& answered);
  void decided(Request const& request, Admission const& admission);
  void connections(std::size_t seat, report::Connections const& reported);

  boost::asio::io_context& io_;
  Tracker& tracker_;
  /// Messages that were posted may outlive this.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  LiveIds ids_;
  MemoryBudget memory_;
  Listener listener_;
  KnownRequests known_;
  ReportReader reader_;
  EngineDoubt engine_;  // as the threads were notified of it
  bool is_asking_ = false;
  bool is_flushed_ = false;
  Crew crew_;  // last member, so that its threads end first
};

}  // namespace lastcall::ingress
