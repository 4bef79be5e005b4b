#include "ingress/mailed_tracker.hpp"

#include "base/clock.hpp"

namespace lastcall::ingress {

Admission MailedTracker::begin(Begun const& begun) {
  mailer_.send(report::Begun{.id = std::string(begun.id),
                             .serial = begun.serial,
                             .endpoint = std::string(begun.endpoint),
                             .model = std::string(begun.model),
                             .streaming = begun.streaming,
                             .priority = begun.priority,
                             .parent = std::string(begun.parent),
                             .way = begun.way});
  return {Admission::Kind::waits, {}};
}

void MailedTracker::first_byte(std::string_view id, std::string_view endpoint,
                               std::string_view model, std::chrono::milliseconds took) {
  reported_progress_ = monotonic_time();
  mailer_.send(report::FirstByte{std::string(id), std::string(endpoint), std::string(model), took});
}

void MailedTracker::moved(std::string_view id) {
  std::chrono::milliseconds const now = monotonic_time();
  if (now - reported_progress_ >= kProgressPeriod) {
    reported_progress_ = now;
    mailer_.send(report::Moved{std::string(id)});
  }
}

void MailedTracker::client_gone(std::string_view id, lifecycle::CancelMode mode) {
  mailer_.send(report::ClientGone{std::string(id), mode});
}

void MailedTracker::ended(std::string_view id, lifecycle::Outcome outcome) {
  mailer_.send(report::Ended{std::string(id), outcome});
}

void MailedTracker::handed_off(HandedOff const& handed) {
  mailer_.send(report::HandedOff{.id = std::string(handed.id),
                                 .endpoint = std::string(handed.endpoint),
                                 .model = std::string(handed.model),
                                 .reason = handed.reason,
                                 .events = handed.events,
                                 .bytes = handed.bytes});
}

void MailedTracker::event_gap(std::string_view endpoint, std::chrono::milliseconds took) {
  mailer_.send(report::EventGap{std::string(endpoint), took});
}

void MailedTracker::error_held() {
  mailer_.send(report::ErrorHeld{});
}

void MailedTracker::refused(relay::Refusal const& refusal) {
  mailer_.send(refusal);
}

void MailedTracker::evicted(Scarce what) {
  mailer_.send(report::Evicted{what});
}

void MailedTracker::shed(Scarce what) {
  mailer_.send(report::Shed{what});
}

void MailedTracker::greeting_failed(GreetingFailed const& failed) {
  mailer_.send(report::GreetingFailed{failed.why, std::string(failed.address)});
}

void MailedTracker::control_called(ControlCall const& call) {
  mailer_.send(report::ControlCalled{.is_granted = call.is_granted,
                                     .is_open = call.is_open,
                                     .rest = call.rest,
                                     .certificate = std::string(call.certificate),
                                     .method = std::string(call.method),
                                     .path = std::string(call.path),
                                     .address = std::string(call.address)});
}

void MailedTracker::slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) {
  mailer_.send(report::SlowTurn{kind, took});
}

void MailedTracker::connections(std::size_t clients, std::size_t upstream) {
  mailer_.send(report::Connections{adopted_, clients, upstream});
}

std::string MailedTracker::claim(std::string_view wanted, bool keep) {
  return ids_.claim(wanted, keep);
}

void MailedTracker::release(std::string_view id) {
  mailer_.release(id);
}

}  // namespace lastcall::ingress
