// The blocking client of `lastcall status`, `drain` and the other commands of an operator.
//
// Rules:
//  1. One request at a time: it has a seq, and the Ack or Error with that seq answers it; other
//     messages that arrive meanwhile (status lines of a watch) are kept for next().
//  2. Every wait has a deadline, except next() without a timeout.
//  3. Failures are texts for a terminal: "cannot connect to /run/...: no such file;
//  ...".
//
// Thread rule: one thread at a time. Source: docs/ipc.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "ipc/line_buffer.hpp"
#include "ipc/message.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::ipc {

/// Why a request has no result.
struct Failure {
  std::string text;
  std::optional<ErrorCode> code;  // set when the supervisor refused it
};

class OperatorClient {
 public:
  using Timeout = std::optional<std::chrono::milliseconds>;  // absent: no limit

  /// Connects and sends hello; `name` identifies the client in the supervisor's log.
  static std::variant<OperatorClient, Failure> connect(std::string const& path,
                                                       std::string_view name, Timeout timeout);

  /// The supervisor's answer to the hello.
  Welcome const& welcome() const { return welcome_; }

  /// Returns the result in the ack, as JSON text; empty if it had none.
  std::variant<std::string, Failure> request(ToSupervisor const& message, Timeout timeout);

  /// The next message that is not an answer; after a Watch these are StatusUpdates.
  std::variant<FromSupervisor, Failure> next(Timeout timeout);

 private:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  OperatorClient(Descriptor socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  std::optional<Failure> greet(std::string_view name, Deadline deadline);
  std::optional<Failure> write(std::string_view bytes, Deadline deadline);
  std::variant<FromSupervisor, Failure> read(Deadline deadline);
  std::optional<Failure> wait(short events, Deadline deadline) const;
  Failure failed(std::string_view what, std::string_view why) const;
  static Deadline deadline_of(Timeout timeout);

  Descriptor socket_;
  std::string path_;
  Welcome welcome_;
  LineBuffer lines_;
  std::deque<FromSupervisor> kept_;
  std::uint64_t last_seq_{};
};

}  // namespace lastcall::ipc
