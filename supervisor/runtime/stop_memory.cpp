#include "supervisor/runtime/stop_memory.hpp"

#include <variant>

#include "base/clock.hpp"
#include "supervisor/runtime/record/report.hpp"

namespace lastcall::runtime {

StopMemory::StopMemory(std::string const& admin_socket, lifecycle::Lifecycle const& core,
                       ipc::Server& server, ShimSession& shim, telemetry::Log& log)
    : core_(core),
      server_(server),
      shim_(shim),
      log_(log),
      record_(admin_socket, StopRecord::identity_of_this_life()) {}

std::optional<std::string> StopMemory::read() const {
  std::string note;
  std::optional<std::string> blob = record_.read(monotonic_now(), note);
  if (!note.empty()) {
    log_.warning(note);
  }
  if (blob) {
    log_.warning("continuing the stop that an earlier run began", {{"record", record_.path()}});
  }
  return blob;
}

void StopMemory::provide(lifecycle::Instant now, std::span<lifecycle::Action const> actions) {
  bool has_word = false;
  for (lifecycle::Action const& action : actions) {
    if (auto const* const order = std::get_if<lifecycle::Remember>(&action)) {
      remember(*order);
    } else if (auto const* const will = std::get_if<lifecycle::LeaveWill>(&action)) {
      leave_will(now, *will);
    } else if (auto const* const news = std::get_if<lifecycle::AnnouncePhase>(&action)) {
      shim_.send(ipc::PhaseChange{news->phase, news->deadline});
    } else {
      continue;
    }
    has_word = true;
  }
  if (has_word) {
    server_.flush();
  }
}

void StopMemory::remember(lifecycle::Remember const& order) {
  if (shim_.is_connected()) {
    shim_.send(ipc::Remember{order.blob});
    return;
  }
  if (std::string const problem = record_.write(order.blob); !problem.empty()) {
    log_.error("cannot record this stop: a restarted supervisor would not know of it",
               {{"detail", problem}});
  }
}

void StopMemory::leave_will(lifecycle::Instant now, lifecycle::LeaveWill const& order) {
  shim_.send(
      ipc::Will{.mode = order.mode,
                .deadline_at = order.deadline,
                .code = order.code,
                .report = will_json(core_.report(now), order.phase, core_.snapshot().in_flight)});
}

}  // namespace lastcall::runtime
