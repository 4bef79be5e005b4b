// Handles the messages of the supervisor.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "ipc/codec.hpp"
#include "ipc/ops.hpp"
#include "sdk/cpp/session.hpp"

namespace lastcall::sdk {
namespace {

Clock::time_point instant_of(ipc::Instant at) {
  return Clock::time_point(at.time_since_epoch());
}

}  // namespace

/// Returns false if the connection must be closed.
bool Session::receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
    return true;
  }
  auto decoded = ipc::decode_from_supervisor(line);
  if (auto* const problem = std::get_if<ipc::DecodeError>(&decoded)) {
    refuse(*problem);
    return !problem->close;
  }
  auto& incoming = std::get<0>(decoded);
  bool const is_answer = std::holds_alternative<ipc::Ack>(incoming.message) ||
                         std::holds_alternative<ipc::Error>(incoming.message);
  if (!handle(incoming.message)) {
    refuse({.code = ipc::ErrorCode::unknown_op,
            .message = std::string(op_of(incoming.message)) + ": not for an engine",
            .seq = incoming.seq});
  } else if (incoming.seq && !is_answer) {
    send(ipc::Ack{*incoming.seq, {}});
  }
  return true;
}

void Session::refuse(ipc::DecodeError const& problem) {
  log_("the supervisor sent a line that cannot be used: " + problem.message);
  if (problem.of_answer) {
    return;
  }
  lock_.locked([&](Later&) {
    outbox_.send(ipc::Error{problem.seq, problem.code, problem.message});
    connection_->flush();
  });
}

/// Returns false if an engine does not know that message.
bool Session::handle(ipc::FromSupervisor& message) {
  return std::visit(
      [this](auto& known) {
        using Message = std::remove_cvref_t<decltype(known)>;
        if constexpr (requires { on(known); }) {
          on(known);
          return true;
        } else {
          // Nothing is held back here that it could release.
          return std::is_same_v<Message, ipc::HealthCleared>;
        }
      },
      message);
}

void Session::on(ipc::Welcome const& message) {
  lock_.locked([&](Later& later) {
    is_welcomed_ = true;
    log_.end_row();
    ledger_.welcomed();
    // A welcome in the middle of a stop does not repeat the deadline.
    if (message.phase == ipc::Phase::starting || message.phase == ipc::Phase::serving) {
      deadline_.reset();
    }
    enter(static_cast<Phase>(message.phase), later);
  });
}

void Session::on(ipc::PhaseChange const& message) {
  lock_.locked([&](Later& later) {
    deadline_ =
        message.deadline_at ? std::optional(instant_of(*message.deadline_at)) : std::nullopt;
    enter(static_cast<Phase>(message.phase), later);
  });
}

void Session::enter(Phase phase, Later& later) {
  if (phase != phase_) {
    phase_ = phase;
    if (callbacks_.phase) {
      later.push_back([call = callbacks_.phase, phase] { call(phase); });
    }
  }
}

void Session::on(ipc::Admitted const& message) {
  lock_.locked([&](Later& later) { ledger_.admitted(message.id, later); });
}

void Session::on(ipc::Rejected const& message) {
  lock_.locked([&](Later& later) { ledger_.rejected(message, later); });
}

void Session::on(ipc::CancelBatch const& message) {
  std::vector<ContextPtr> contexts;
  lock_.locked([&](Later&) {
    for (std::string const& id : message.ids) {
      if (Entry const* const entry = ledger_.find(id); entry != nullptr) {
        contexts.push_back(entry->context);  // otherwise it has ended meanwhile
      }
    }
  });
  Notified const notified(message.ids.begin(), message.ids.end());
  Level const level = message.mode == ipc::CancelMode::kill ? Level::killed : Level::stopped;
  for (ContextPtr const& context : contexts) {
    context->raise(level, static_cast<Reason>(message.reason), std::nullopt, notified);
  }
}

void Session::on(ipc::HealthCheck const&) {
  std::function<HealthAnswer()> ask;
  lock_.locked([&](Later&) { ask = callbacks_.health; });
  HealthAnswer answer{Health::healthy, "no health callback; the process answers"};
  if (ask) {
    answer = ask();
  }
  report_health(answer.status, std::move(answer.detail));
}

void Session::on(ipc::Deregister const&) {
  std::function<void(Client::Done)> call;
  lock_.locked([&](Later&) { call = callbacks_.deregister; });
  Client::Done const done = [self = weak_from_this()] {
    if (auto const session = std::static_pointer_cast<Session>(self.lock())) {
      session->send(ipc::Deregistered{});
    }
  };
  call ? call(done) : done();
}

void Session::on(ipc::Cleanup const& message) {
  std::function<void(std::chrono::milliseconds, Client::Done)> call;
  lock_.locked([&](Later&) { call = callbacks_.cleanup; });
  Client::Done const done = [self = weak_from_this()] {
    if (auto const session = std::static_pointer_cast<Session>(self.lock())) {
      session->send(ipc::CleanupDone{});
    }
  };
  auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
      instant_of(message.deadline_at) - Clock::now());
  call ? call(std::max(left, std::chrono::milliseconds(0)), done) : done();
}

void Session::on(ipc::Ack const& message) {
  on_answer(message.seq, false);
}

void Session::on(ipc::Error const& message) {
  std::string text =
      "the supervisor refused a line: " + std::string(name(message.code)) + ": " + message.message;
  if (is_connected()) {
    log_(text);
  } else {
    log_.in_a_row(std::move(text));
  }
  if (message.seq) {
    on_answer(*message.seq, true);
  }
}

void Session::on_answer(std::uint64_t seq, bool is_error) {
  lock_.locked([&](Later& later) {
    if (fatal_ && fatal_->seq == seq) {
      fatal_->answer(!is_error);
    }
    ledger_.answered(seq, is_error, later);
  });
}

}  // namespace lastcall::sdk
