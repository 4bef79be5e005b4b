#include "sdk/cpp/protocol.hpp"

#include <string>
#include <utility>
#include <variant>

#include "base/overloaded.hpp"
#include "ipc/ops.hpp"

namespace lastcall::sdk {

Protocol::Protocol(SessionLock& lock, ProblemLog& log, ipc::Hello hello, Connection* connection)
    : lock_(lock), log_(log), hello_(std::move(hello)), refused_(log), outbox_(connection) {}

void Protocol::send(ipc::ToSupervisor const& message) {
  lock_.locked([&](Later&) { outbox_.send(message); });
}

void Protocol::greet() {
  ipc::Hello hello = hello_;
  hello.live = ledger_.announced_size();
  outbox_.send(hello);
  callbacks_.announce();
  fatal_.announce();
  endpoints_.announce();
  ledger_.announce();
}

bool Protocol::receive(std::string_view line) {
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

void Protocol::refuse(ipc::DecodeError const& problem) {
  log_("the supervisor sent a line that cannot be used: " + problem.message);
  if (problem.of_answer) {
    return;
  }
  lock_.locked([&](Later&) {
    outbox_.send(ipc::Error{problem.seq, problem.code, problem.message});
    outbox_.flush();
  });
}

bool Protocol::lost(Clock::time_point now, Later& later) {
  ledger_.lost(now, later);
  refused_.lost(later);
  return phase_.lost();
}

std::optional<Clock::time_point> Protocol::tick(Clock::time_point now, Later& later) {
  auto const due = ledger_.tick(now, later);
  auto const counted = refused_.tick(now, later);
  return due && (!counted || *due < *counted) ? due : counted;
}

void Protocol::end(Later& later) {
  ledger_.clear(later);
  fatal_.give_up();
}

/// Returns false if an engine does not know that message.
bool Protocol::handle(ipc::FromSupervisor& message) {
  Overloaded const engine{
      [this](ipc::Welcome const& welcome) { welcomed(welcome); },
      [this](ipc::PhaseChange const& change) {
        lock_.locked([&](Later& later) { phase_.changed(change, later); });
      },
      [this](ipc::Admitted const& admitted) { requests_.admitted(admitted); },
      [this](ipc::Rejected const& rejected) { requests_.rejected(rejected); },
      [this](ipc::CancelBatch const& batch) { requests_.cancel(batch); },
      [this](ipc::HealthCheck const&) { callbacks_.check_health(); },
      [](ipc::HealthCleared const&) {},  // nothing is held back here that it could release
      [this](ipc::Deregister const&) { callbacks_.deregister(); },
      [this](ipc::Cleanup const& cleanup) { callbacks_.cleanup(cleanup); },
      [this](ipc::Ack const& ack) { answered(ack.seq, false); },
      [this](ipc::Error const& error) { refused(error); }};
  return std::visit(
      [&](auto& known) {
        constexpr bool kIsKnown = requires { engine(known); };
        if constexpr (kIsKnown) {
          engine(known);
        }
        return kIsKnown;
      },
      message);
}

void Protocol::welcomed(ipc::Welcome const& message) {
  lock_.locked([&](Later& later) {
    log_.end_row();
    ledger_.welcomed();
    phase_.welcomed(message, later);
  });
}

void Protocol::refused(ipc::Error const& message) {
  std::string text = std::string(name(message.code)) + ": " + message.message;
  if (phase_.is_connected()) {
    refused_.add(message.code, std::move(text), Clock::now());
  } else {
    log_.in_a_row("the supervisor refused a line: " + text);
  }
  if (message.seq) {
    answered(*message.seq, true);
  }
}

void Protocol::answered(std::uint64_t seq, bool is_error) {
  lock_.locked([&](Later& later) {
    fatal_.answered(seq, is_error);
    ledger_.answered(seq, is_error, later);
  });
}

}  // namespace lastcall::sdk
