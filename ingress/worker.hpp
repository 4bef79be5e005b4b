// One thread that relays: a loop with a proxy of its own, whose tracker is a mailbox.
//
// Invariants:
//  1. The proxy's reports are mailed in their order; those of one turn are mailed together.
//  2. An id is free again only after the end of its request was mailed: a request of the same id,
//     whichever worker has it, begins after that end.
//  3. It decides nothing by itself: a request waits until the core's answer has come back.
//
// Thread rule: public calls on the owner's thread; the proxy and everything private on the
// worker's. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ingress/live_ids.hpp"
#include "ingress/proxy.hpp"
#include "ingress/report.hpp"
#include "ingress/tracker.hpp"

namespace lastcall::ingress {

class Worker final : private Tracker, private SharedIds {
 public:
  /// Called on the worker's thread.
  using Mail = std::function<void(report::Batch)>;

  /// The state that the threads share, which outlives them.
  struct Shared {
    LiveIds& ids;
    MemoryBudget& memory;
  };

  Worker(Options const& options, Shared const& shared, std::uint64_t first_serial, Mail mail);
  ~Worker() override;

  /// Returns an empty text, or the reason why there is no thread.
  std::string start(unsigned number);

  void order(std::function<void(Proxy&)> order);
  void adopt(Accepted accepted);
  void engine_changed(bool may_be_gone, bool may_be_dying);
  /// Asks whether nothing waits to be written to a client. The answer comes on the worker's thread,
  /// once all earlier orders are carried out and their results were mailed.
  void ask(std::function<void(bool is_flushed)> answer);

 private:
  // Tracker
  Admission begin(Begun const& begun) override;
  void first_byte(std::string_view id, std::string_view endpoint, std::string_view model,
                  std::chrono::milliseconds took) override;
  void moved(std::string_view id) override;
  void client_gone(std::string_view id, lifecycle::CancelMode mode) override;
  void ended(std::string_view id, lifecycle::Outcome outcome) override;
  void handed_off(HandedOff const& handed) override;
  bool engine_may_be_gone() const override { return engine_may_be_gone_; }
  bool engine_may_be_dying() const override { return engine_may_be_dying_; }
  void error_held() override;
  void event_gap(std::string_view endpoint, std::chrono::milliseconds took) override;
  void refused(relay::Refusal const& refusal) override;
  void evicted(Scarce what) override;
  void shed(Scarce what) override;
  void greeting_failed(GreetingFailed const& failed) override;
  void control_called(ControlCall const& call) override;
  void slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) override;
  void connections(std::size_t clients, std::size_t upstream) override;
  // SharedIds
  std::string claim(std::string_view wanted, bool keep) override;
  void release(std::string_view id) override;

  void send_report(report::Report report);
  void post_soon();
  void post();

  LiveIds& ids_;
  Mail const mail_;
  std::unique_ptr<boost::asio::io_context> io_;
  std::unique_ptr<Proxy> proxy_;
  std::thread thread_;

  report::Batch batch_;
  std::vector<std::string> released_;
  bool post_is_due_ = false;
  bool engine_may_be_gone_ = false;
  bool engine_may_be_dying_ = false;
  std::size_t adopted_ = 0;
  std::chrono::milliseconds reported_progress_{};
};

}  // namespace lastcall::ingress
