// Handles the messages of the supervisor.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "ipc/codec.hpp"
#include "ipc/ops.hpp"
#include "sdk/cpp/session.hpp"

namespace lastcall::sdk {
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
    log_.end_row();
    ledger_.welcomed();
    phase_.welcomed(message, later);
  });
}

void Session::on(ipc::PhaseChange const& message) {
  lock_.locked([&](Later& later) { phase_.changed(message, later); });
}

void Session::on(ipc::Admitted const& message) {
  requests_.admitted(message);
}

void Session::on(ipc::Rejected const& message) {
  requests_.rejected(message);
}

void Session::on(ipc::CancelBatch const& message) {
  requests_.cancel(message);
}

void Session::on(ipc::HealthCheck const&) {
  callbacks_.check_health();
}

void Session::on(ipc::Deregister const&) {
  callbacks_.deregister();
}

void Session::on(ipc::Cleanup const& message) {
  callbacks_.cleanup(message);
}

void Session::on(ipc::Ack const& message) {
  on_answer(message.seq, false);
}

void Session::on(ipc::Error const& message) {
  std::string text =
      "the supervisor refused a line: " + std::string(name(message.code)) + ": " + message.message;
  if (phase_.is_connected()) {
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
    fatal_.answered(seq, is_error);
    ledger_.answered(seq, is_error, later);
  });
}

}  // namespace lastcall::sdk
