#include "supervisor/runtime/report_publisher.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"
#include "supervisor/runtime/loop/poll_until.hpp"
#include "supervisor/runtime/record/report.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kBetweenLooks{100};  // for a reader of the log
constexpr lifecycle::Duration kExitTakes{300};
constexpr lifecycle::Duration kReaderIsAway{5'000};

}  // namespace

ReportPublisher::ReportPublisher(boost::asio::io_context& io, lifecycle::Lifecycle const& core,
                                 ShimSession& shim, Narrator& narrator, telemetry::Log& log,
                                 Reported reported)
    : io_(io),
      core_(core),
      shim_(shim),
      narrator_(narrator),
      log_(log),
      reported_(std::move(reported)) {}

void ReportPublisher::publish(lifecycle::Instant now, std::vector<std::string> registries) {
  lifecycle::Report const report = core_.report(now);
  // According to the last report the engine was running, so its shim is lost and it is unknown how
  // it ended.
  bool const end_is_unknown = report.engine == lifecycle::EngineState::exited &&
                              shim_.engine().state == ipc::EngineState::running;
  report_.publish(report_json(
      report, {.registries = std::move(registries), .engine_end_is_unknown = end_is_unknown}));
  narrator_.report(report_.text());
  show(report_.text(), now);
  // If the log's reader comes back soon enough, the report is in the log, whether the supervisor
  // ends or continues.
  lifecycle::Instant const limit = now + std::min(report.time_left - kExitTakes, kReaderIsAway);
  log_.wait_at_end_until(limit);
  poll_until(
      io_, limit, kBetweenLooks, [this] { return log_.flush(); }, [] {});
}

void ReportPublisher::end_shim(int code) {
  shim_.send(ipc::Exit{code, report_.text()});
  report_.shim_ordered(code, shim_.engine().state == ipc::EngineState::exited);
}

void ReportPublisher::engine_exited(ipc::EngineExited const& exited) {
  if (auto const right = report_.engine_exited(exited)) {
    narrator_.report_corrected(right->code);
    show(right->report, monotonic_now());
  }
}

void ReportPublisher::show(std::string const& report, lifecycle::Instant now) {
  reported_(report, now);
  write_termination_log(termination_log_path(), report);
}

}  // namespace lastcall::runtime
