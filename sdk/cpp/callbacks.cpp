#include "sdk/cpp/callbacks.hpp"

#include <algorithm>
#include <utility>

#include "sdk/cpp/clipped.hpp"
#include "sdk/cpp/instance_phase.hpp"

namespace lastcall::sdk {

void Callbacks::set(std::function<void(Set&)> const& change) {
  lock_.locked([&](Later&) { change(set_); });
}

void Callbacks::report_health(Health status, std::string detail) {
  auto const line =
      clipped_to_line(ipc::Health{static_cast<ipc::HealthStatus>(status), std::move(detail)});
  lock_.locked([&](Later&) { outbox_.send(line); });
}

void Callbacks::check_health() {
  std::function<HealthAnswer()> ask;
  lock_.locked([&](Later&) { ask = set_.health; });
  HealthAnswer answer{Health::healthy, "no health callback; the process answers"};
  if (ask) {
    answer = ask();
  }
  report_health(answer.status, std::move(answer.detail));
}

void Callbacks::deregister() {
  std::function<void(Client::Done)> call;
  lock_.locked([&](Later&) { call = set_.deregister; });
  Client::Done const done = sends(ipc::Deregistered{});
  if (call) {
    call(done);
  } else {
    done();
  }
}

void Callbacks::cleanup(ipc::Cleanup const& message) {
  std::function<void(std::chrono::milliseconds, Client::Done)> call;
  lock_.locked([&](Later&) { call = set_.cleanup; });
  Client::Done const done = sends(ipc::CleanupDone{});
  auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
      instant_of(message.deadline_at) - Clock::now());
  if (call) {
    call(std::max(left, std::chrono::milliseconds(0)), done);
  } else {
    done();
  }
}

void Callbacks::announce() {
  if (set_.deregister) {
    outbox_.send(ipc::Registered{});
  }
}

Client::Done Callbacks::sends(ipc::ToSupervisor message) {
  return [this, session = session_, message = std::move(message)] {
    if (auto const alive = session.lock()) {
      lock_.locked([&](Later&) { outbox_.send(message); });
    }
  };
}

}  // namespace lastcall::sdk
