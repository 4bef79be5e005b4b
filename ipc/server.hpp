// The two listening sockets and their peers.
//
// Invariants:
//  1. A peer reaches the observer only if its uid is accepted, its first line is a `hello` of
//     version 1, and its role fits its socket; a message reaches it only if the peer's role may
//     send it.
//  2. For each peer the observer gets hello(), then message()s, then disconnected() exactly once
//     (if it welcomed the peer), and process_gone() at most once, before or after that; nothing
//     after forget(). What a process wrote on its connections before it died, up to 1 MiB each, is
//     received before its process_gone(); on those to the engine socket also if they were not
//     accepted yet. Where another process holds a connection, more may follow.
//  3. No callback runs inside a call of this class, except next_cancels() in flush(): the effects
//     of a call are reported in a later turn.
//  4. Memory is bounded: a line by kMaxLine, messages that wait for a peer by `max_waiting`.
//     Cancels are not queued: next_cancels() is called when the peer's socket can take more.
//  5. Lines that are sent within one turn of the loop go out in one write.
//  6. No crowd locks out the shim or the operators: the admin socket has places of its own, one
//     process has a limited share, and a shim is accepted even if the engine socket is full. Nor
//     does a crowd that sends or dies delay them: see turns.hpp and last_words.hpp.
//
// Thread rule: everything on the thread that runs the io_context.
// Source: docs/ipc.md, unix(7) (SO_PEERCRED), kernel net/core/sock.c (SO_PEERPIDFD), pidfd_open(2).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/peer_id.hpp"
#include "ipc/message.hpp"
#include "ipc/unix_socket.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::ipc {

using lastcall::PeerId;
using Seq = std::optional<std::uint64_t>;

struct PeerInfo {
  Role role{};
  std::string name;
  std::string sdk;
  uid_t uid{};
  pid_t pid{};      // only for people to read; 0 for a peer in a sibling PID namespace
  ino_t process{};  // the same for connections of one process; 0: the kernel does not report it
  bool watched{};   // a pidfd reports the end of its process; else only the connection does
  bool connected{};
};

/// Why the server closed a connection that its peer wanted to keep.
enum class Drop : std::uint8_t { slow_reader, backlog, protocol, not_allowed };
constexpr std::string_view name(Drop why) {
  constexpr std::array<std::string_view, 4> kNames{"slow_reader", "backlog", "protocol",
                                                   "not_allowed"};
  return kNames[static_cast<std::size_t>(why)];
}

/// Receives the events of peers. No exception may leave a callback.
class Observer {
 public:
  Observer() = default;
  Observer(Observer const&) = delete;
  Observer& operator=(Observer const&) = delete;
  virtual ~Observer() = default;

  /// Decides about the peer: it calls Server::welcome() or Server::refuse() before it returns.
  virtual void hello(PeerId peer, Hello&& hello) = 0;
  /// Answers a `seq` once with Server::ack() or Server::error(), here or later.
  virtual void message(PeerId peer, ToSupervisor&& message, Seq seq) = 0;
  /// The connection ended. `why` is for the log: "closed by the peer", "reads nothing for 5000 ms".
  /// The id stays known until Server::forget().
  virtual void disconnected(PeerId peer, std::string_view why) = 0;
  /// The process that had connected has ended (only for PeerInfo::watched).
  virtual void process_gone(PeerId peer) = 0;
  /// Fills `batch` with at most kMaxBatch ids that share one mode and reason, and removes them from
  /// the ledger's list. Returns their number, 0 if none is left. `batch.ids` is empty at the call.
  virtual std::size_t next_cancels(PeerId peer, CancelBatch& batch) = 0;
  /// Reports something worth a warning that concerns no peer, or a peer that sent no hello.
  virtual void trouble(std::string_view what) = 0;
  /// Only for counting. Unlike the others, these two may be called inside a call of the server.
  virtual void error_sent(ErrorCode code) = 0;
  virtual void peer_dropped(Drop why) = 0;
};

inline constexpr std::size_t kMaxBatch = 1024;

struct ServerOptions {
  std::string engine_socket;
  std::string admin_socket;  // empty: none
  mode_t mode{0660};
  std::vector<uid_t> allow_uids;  // in addition to the supervisor's own and 0
  bool allow_any_uid{false};      // for engines and shims; operators must still be listed
  std::size_t max_waiting{1024 * 1024};
  std::chrono::milliseconds stall_timeout{5'000};
  std::chrono::milliseconds hello_timeout{30'000};
  /// The limits of connections to the engine socket and to the admin socket; a further one receives
  /// `busy`, unless it is a shim.
  std::size_t max_connections{1024};
  std::size_t max_admin_connections{64};
  /// The limit for one process, if the kernel reports its id.
  std::size_t max_of_process{256};
  std::size_t max_admin_of_process{16};
};

class Server {
 public:
  Server(boost::asio::io_context& io, ServerOptions options, Observer& observer);
  /// Closes everything at once, without callbacks.
  ~Server();
  Server(Server const&) = delete;
  Server& operator=(Server const&) = delete;

  /// Creates directories and sockets and begins to accept. Returns an error's text, which states
  /// what, where and why: "cannot listen on /run/lastcall/lastcall.sock: another process listens
  /// there".
  [[nodiscard]] std::optional<std::string> listen();

  /// Listens again if a socket's file was removed, for example by a cleaner of temporary files, or
  /// its directory replaced, for example by a volume that is mounted late. What was done is
  /// reported as trouble.
  void follow_sockets();

  // Calls for a peer that is gone or closing do nothing.

  void welcome(PeerId peer, Welcome const& welcome);
  /// Sends an error and closes. For a peer that was not welcomed the observer gets no more calls.
  void refuse(PeerId peer, ErrorCode code, std::string_view message);

  void send(PeerId peer, FromSupervisor const& message);
  /// Does nothing without a `seq`. `result` is a JSON value as text, or empty.
  void ack(PeerId peer, Seq seq, std::string_view result = {});
  void error(PeerId peer, Seq seq, ErrorCode code, std::string_view message);
  /// Announces that next_cancels() has something for this peer.
  void cancels_ready(PeerId peer);
  /// Writes all waiting lines to all peers now instead of at the end of this turn: called before
  /// work that a cancel should not wait for.
  void flush();

  /// Writes the waiting lines, then closes; disconnected() follows.
  void close(PeerId peer);
  /// Stops listening, removes the socket files, closes every peer as close() does.
  void close_all();
  /// Whether every byte has been sent, for a process that is about to exit.
  [[nodiscard]] bool is_flushed() const;
  /// The observer needs neither info() nor process_gone() for this peer any more; also closes it.
  void forget(PeerId peer);

  [[nodiscard]] PeerInfo const* info(PeerId peer) const;
  /// The descriptor that the peer passed with its hello (SCM_RIGHTS), available during the hello;
  /// empty if there is none. The caller has to check what kind of descriptor it is.
  [[nodiscard]] Descriptor take_passed(PeerId peer);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lastcall::ipc
