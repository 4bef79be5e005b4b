#include "ingress/report_reader.hpp"

#include <utility>
#include <variant>

namespace lastcall::ingress {

ReportReader::ReportReader(Tracker& tracker, KnownRequests& known, Listeners listeners)
    : tracker_(tracker), known_(known), listeners_(std::move(listeners)) {}

void ReportReader::read(std::size_t seat, report::Report const& reported) {
  std::visit([&](auto const& one) { receive(seat, one); }, reported);
}

void ReportReader::receive(std::size_t seat, report::Begun const& reported) {
  known_.begin(reported.id, {seat, reported.serial});
  Admission const admission = tracker_.begin({.id = reported.id,
                                              .serial = reported.serial,
                                              .endpoint = reported.endpoint,
                                              .model = reported.model,
                                              .streaming = reported.streaming,
                                              .priority = reported.priority,
                                              .parent = reported.parent,
                                              .way = reported.way});
  listeners_.decided({reported.id, reported.serial}, admission);
}

void ReportReader::receive(std::size_t, report::FirstByte const& reported) {
  if (known_.contains(reported.id)) {
    tracker_.first_byte(reported.id, reported.endpoint, reported.model, reported.took);
  }
}

void ReportReader::receive(std::size_t, report::Moved const& reported) {
  if (known_.contains(reported.id)) {
    tracker_.moved(reported.id);
  }
}

void ReportReader::receive(std::size_t, report::ClientGone const& reported) {
  if (known_.contains(reported.id)) {
    tracker_.client_gone(reported.id, reported.mode);
  }
}

void ReportReader::receive(std::size_t, report::Ended const& reported) {
  if (known_.end(reported.id)) {
    tracker_.ended(reported.id, reported.outcome);
  }
}

void ReportReader::receive(std::size_t, report::HandedOff const& reported) {
  tracker_.handed_off({.id = reported.id,
                       .endpoint = reported.endpoint,
                       .model = reported.model,
                       .reason = reported.reason,
                       .events = reported.events,
                       .bytes = reported.bytes});
}

void ReportReader::receive(std::size_t, report::EventGap const& reported) {
  tracker_.event_gap(reported.endpoint, reported.took);
}

void ReportReader::receive(std::size_t, report::ErrorHeld const&) {
  tracker_.error_held();
}

void ReportReader::receive(std::size_t, report::Evicted const& reported) {
  tracker_.evicted(reported.what);
}

void ReportReader::receive(std::size_t, report::Shed const& reported) {
  tracker_.shed(reported.what);
}

void ReportReader::receive(std::size_t, relay::Refusal const& reported) {
  tracker_.refused(reported);
}

void ReportReader::receive(std::size_t, report::GreetingFailed const& reported) {
  tracker_.greeting_failed({reported.why, reported.address});
}

void ReportReader::receive(std::size_t, report::ControlCalled const& reported) {
  tracker_.control_called({.is_granted = reported.is_granted,
                           .is_open = reported.is_open,
                           .rest = reported.rest,
                           .certificate = reported.certificate,
                           .method = reported.method,
                           .path = reported.path,
                           .address = reported.address});
}

void ReportReader::receive(std::size_t, report::SlowTurn const& reported) {
  tracker_.slow_turn(reported.kind, reported.took);
}

void ReportReader::receive(std::size_t seat, report::Connections const& reported) {
  listeners_.connections(seat, reported);
}

}  // namespace lastcall::ingress
