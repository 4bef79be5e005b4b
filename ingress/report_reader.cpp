#include "ingress/report_reader.hpp"

#include <utility>

namespace lastcall::ingress {

ReportReader::ReportReader(Tracker& tracker, KnownRequests& known, Listeners listeners)
    : tracker_(tracker), known_(known), listeners_(std::move(listeners)) {}

void ReportReader::begin(std::size_t seat, Begun const& begun) {
  Request const request{std::string(begun.id), begun.serial};
  known_.begin(request.id, {seat, begun.serial});
  listeners_.decided(request, tracker_.begin(begun));
}

void ReportReader::end(std::string const& id, lifecycle::Outcome outcome) {
  if (known_.end(id)) {
    tracker_.ended(id, outcome);
  }
}

}  // namespace lastcall::ingress
