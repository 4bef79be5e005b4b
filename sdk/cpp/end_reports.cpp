#include "sdk/cpp/end_reports.hpp"

#include <utility>

namespace lastcall::sdk {

void EndReports::add(ipc::RequestBegin begin, Outcome outcome, bool is_sent) {
  forget_written();
  ends_.push_back({is_sent ? outbox_.queued() : 0, std::move(begin), outcome});
  if (ends_.size() > kMaxUnconfirmed && ends_.front().until == 0) {
    ends_.pop_front();
  }
}

void EndReports::announce() {
  for (Ended& each : ends_) {
    bool const is_sent =
        outbox_.send(each.begin) &&
        outbox_.send(ipc::RequestEnd{each.begin.id, static_cast<ipc::Outcome>(each.outcome)});
    each.until = is_sent ? outbox_.queued() : 0;
  }
}

void EndReports::lost() {
  forget_written();
  for (Ended& each : ends_) {
    each.until = 0;
  }
  while (ends_.size() > kMaxUnconfirmed) {
    ends_.pop_front();
  }
}

void EndReports::forget_written() {
  while (!ends_.empty() && ends_.front().until != 0 && outbox_.is_written(ends_.front().until)) {
    ends_.pop_front();
  }
}

}  // namespace lastcall::sdk
