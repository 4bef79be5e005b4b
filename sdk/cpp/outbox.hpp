// The way to the supervisor for everyone who has a line for it.
//
// Rules:
//  1. A line is appended to the connection, or dropped if there is none: what the supervisor must
//     know is state, which the greeting of the next connection contains.
//  2. `seq` numbers are unique for the life of the client, across connections.
//  3. A position belongs to the connection; it means nothing after the connection has ended.
//
// Thread rule: under the session's mutex. Source: docs/ipc.md, 'Answers and errors'.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ipc/message.hpp"
#include "sdk/cpp/connection.hpp"

namespace lastcall::sdk {

class Outbox {
 public:
  /// `connection` is null if there is no socket.
  explicit Outbox(Connection* connection) : connection_(connection) {}

  bool has_socket() const { return connection_ != nullptr; }
  bool is_open() const { return connection_ != nullptr && connection_->is_open(); }
  std::uint64_t next_seq() { return ++last_seq_; }
  /// Appends a line if there is a connection; returns whether it did.
  bool send(ipc::ToSupervisor const& message, std::optional<std::uint64_t> seq = std::nullopt);
  /// Sends as many lines as the ids need.
  void send_ids(std::vector<std::string> ids,
                std::function<ipc::ToSupervisor(std::vector<std::string>)> const& make);
  /// The position of the end of the last line. There must be a connection.
  std::uint64_t queued() const { return connection_->output().queued(); }
  /// Whether everything up to that position was written to the connection, which is still there.
  bool is_written(std::uint64_t position) const {
    return is_open() && position <= connection_->output().flushed();
  }
  /// Writes now what the connection accepts, instead of at the end of the round. There must be a
  /// socket.
  void flush() { connection_->flush(); }
  /// Something is due, so the processing thread must make a round. There must be a socket.
  void wake() { connection_->wake(); }

 private:
  Connection* const connection_;
  std::uint64_t last_seq_{};
};

}  // namespace lastcall::sdk
