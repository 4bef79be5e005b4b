#include "ingress/mailed_tracker.hpp"

#include <utility>

#include "base/clock.hpp"
#include "ingress/report_reader.hpp"

namespace lastcall::ingress {

template <typename Call>
void MailedTracker::mail(Call call) {
  mailer_.send(
      [call = std::move(call)](ReportReader& reader, std::size_t) { call(reader.tracker()); });
}

template <typename Call>
void MailedTracker::mail_about(std::string_view id, Call call) {
  mailer_.send([id = std::string(id), call = std::move(call)](ReportReader& reader, std::size_t) {
    if (reader.knows(id)) {
      call(reader.tracker(), id);
    }
  });
}

// The views of a struct that is mailed are pointed at the copies of its texts before they are read.

Admission MailedTracker::begin(Begun const& begun) {
  mailer_.send([begun, id = std::string(begun.id), endpoint = std::string(begun.endpoint),
                model = std::string(begun.model),
                parent = std::string(begun.parent)](ReportReader& reader, std::size_t seat) {
    Begun mailed = begun;
    mailed.id = id;
    mailed.endpoint = endpoint;
    mailed.model = model;
    mailed.parent = parent;
    reader.begin(seat, mailed);
  });
  return {Admission::Kind::waits, {}};
}

void MailedTracker::first_byte(std::string_view id, std::string_view endpoint,
                               std::string_view model, std::chrono::milliseconds took) {
  reported_progress_ = monotonic_time();
  mail_about(id,
             [endpoint = std::string(endpoint), model = std::string(model), took](
                 Tracker& to, std::string const& of) { to.first_byte(of, endpoint, model, took); });
}

void MailedTracker::moved(std::string_view id) {
  std::chrono::milliseconds const now = monotonic_time();
  if (now - reported_progress_ >= kProgressPeriod) {
    reported_progress_ = now;
    mail_about(id, [](Tracker& to, std::string const& of) { to.moved(of); });
  }
}

void MailedTracker::client_gone(std::string_view id, lifecycle::CancelMode mode) {
  mail_about(id, [mode](Tracker& to, std::string const& of) { to.client_gone(of, mode); });
}

void MailedTracker::ended(std::string_view id, lifecycle::Outcome outcome) {
  mailer_.send([id = std::string(id), outcome](ReportReader& reader, std::size_t) {
    reader.end(id, outcome);
  });
}

void MailedTracker::handed_off(HandedOff const& handed) {
  mail([handed, id = std::string(handed.id), endpoint = std::string(handed.endpoint),
        model = std::string(handed.model)](Tracker& to) {
    HandedOff mailed = handed;
    mailed.id = id;
    mailed.endpoint = endpoint;
    mailed.model = model;
    to.handed_off(mailed);
  });
}

void MailedTracker::event_gap(std::string_view endpoint, std::chrono::milliseconds took) {
  mail([endpoint = std::string(endpoint), took](Tracker& to) { to.event_gap(endpoint, took); });
}

void MailedTracker::error_held() {
  mail([](Tracker& to) { to.error_held(); });
}

void MailedTracker::refused(relay::Refusal const& refusal) {
  mail([refusal](Tracker& to) { to.refused(refusal); });
}

void MailedTracker::evicted(Scarce what) {
  mail([what](Tracker& to) { to.evicted(what); });
}

void MailedTracker::shed(Scarce what) {
  mail([what](Tracker& to) { to.shed(what); });
}

void MailedTracker::greeting_failed(GreetingFailed const& failed) {
  mail([why = failed.why, address = std::string(failed.address)](Tracker& to) {
    to.greeting_failed({why, address});
  });
}

void MailedTracker::control_called(ControlCall const& call) {
  mail([call, certificate = std::string(call.certificate), method = std::string(call.method),
        path = std::string(call.path), address = std::string(call.address)](Tracker& to) {
    ControlCall mailed = call;
    mailed.certificate = certificate;
    mailed.method = method;
    mailed.path = path;
    mailed.address = address;
    to.control_called(mailed);
  });
}

void MailedTracker::slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) {
  mail([kind, took](Tracker& to) { to.slow_turn(kind, took); });
}

void MailedTracker::connections(std::size_t clients, std::size_t upstream) {
  mailer_.send([reported = report::Connections{adopted_, clients, upstream}](
                   ReportReader& reader, std::size_t seat) { reader.connections(seat, reported); });
}

std::string MailedTracker::claim(std::string_view wanted, bool keep) {
  return ids_.claim(wanted, keep);
}

void MailedTracker::release(std::string_view id) {
  mailer_.release(id);
}

}  // namespace lastcall::ingress
