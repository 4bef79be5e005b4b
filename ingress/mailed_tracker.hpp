// The tracker of a proxy that has a thread of its own: it mails each call to the core's thread.
//
// Invariant: it makes no decision. A request waits until the core's answer has come back.
//
// Thread rule: the relay thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "ingress/live_ids.hpp"
#include "ingress/proxy.hpp"
#include "ingress/report_mailer.hpp"
#include "ingress/tracker.hpp"

namespace lastcall::ingress {

/// What the core's thread knows of the engine.
struct EngineDoubt {
  bool may_be_gone = false;
  bool may_be_dying = false;
  friend bool operator==(EngineDoubt const&, EngineDoubt const&) = default;
};

class MailedTracker final : public Tracker, public SharedIds {
 public:
  /// Both outlive it.
  MailedTracker(ReportMailer& mailer, LiveIds& ids) : mailer_(mailer), ids_(ids) {}

  void engine_changed(EngineDoubt engine) { engine_ = engine; }
  /// The thread has taken over a client: its reports of connections count it from now on.
  void adopted() { ++adopted_; }

  // Tracker
  Admission begin(Begun const& begun) override;
  void first_byte(std::string_view id, std::string_view endpoint, std::string_view model,
                  std::chrono::milliseconds took) override;
  void moved(std::string_view id) override;
  void client_gone(std::string_view id, lifecycle::CancelMode mode) override;
  void ended(std::string_view id, lifecycle::Outcome outcome) override;
  void handed_off(HandedOff const& handed) override;
  bool engine_may_be_gone() const override { return engine_.may_be_gone; }
  bool engine_may_be_dying() const override { return engine_.may_be_dying; }
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

 private:
  /// Mails a call of the core's tracker.
  template <typename Call>
  void mail(Call call);
  /// The same for a request, unless the core does not know it any more; the call gets its id.
  template <typename Call>
  void mail_about(std::string_view id, Call call);

  ReportMailer& mailer_;
  LiveIds& ids_;
  EngineDoubt engine_;
  std::size_t adopted_ = 0;
  std::chrono::milliseconds reported_progress_{};
};

}  // namespace lastcall::ingress
