// The two listening sockets and the peers behind them.
//
// Invariants:
//  1. A peer reaches the observer only through an accepted uid, a `hello` first, version 1, and the
//     role that its socket is for; a message reaches it only if the peer's role may send it.
//  2. For each peer the observer gets hello(), then message()s, then disconnected() exactly once
//     (if it welcomed the peer), and process_gone() at most once, before or after that; lines that
//     a process wrote before it died are received before its process_gone().
//  3. No callback runs inside a call of this class, but for next_cancels() in flush(): the effects
//     of a call are reported in a later turn.
//  4. Memory is bounded: a line by kMaxLine, messages that wait for a peer by `max_waiting`.
//     Cancels are not queued: next_cancels() is asked when the peer's socket can take more.
//  5. Lines that are sent within one turn of the loop leave in one write.
//  6. No crowd locks out the shim or the operators: the admin socket has places of its own, one
//     process has a share, and where the engine socket is full a shim is still let in.
//
// Thread rule: everything on the thread that runs the io_context.
// Source: docs/ipc.md, unix(7) (SO_PEERCRED), kernel net/core/sock.c (SO_PEERPIDFD), pidfd_open(2).
#pragma once

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
  pid_t pid{};      // 0 for a peer of a sibling PID namespace: for people only
  ino_t process{};  // the same for connections of one process; 0: the kernel does not report it
  bool watched{};   // a pidfd reports when its process ends; else only the connection does
  bool connected{};
};

/// Why a connection was closed that its peer would have kept.
enum class Drop : std::uint8_t { slow_reader, backlog, protocol, not_allowed };

/// The receiver of what peers do. No exception may leave a callback.
class Observer {
 public:
  Observer() = default;
  Observer(Observer const&) = delete;
  Observer& operator=(Observer const&) = delete;
  virtual ~Observer() = default;

  /// Decide here: call Server::welcome() or Server::refuse() before returning.
  virtual void hello(PeerId peer, Hello&& hello) = 0;
  /// Answer a `seq` once with Server::ack() or Server::error(), here or later.
  virtual void message(PeerId peer, ToSupervisor&& message, Seq seq) = 0;
  /// The connection ended. `why` is for the log: "closed by the peer", "reads nothing for 5000 ms".
  /// The id stays known until Server::forget().
  virtual void disconnected(PeerId peer, std::string_view why) = 0;
  /// The process that had connected has ended (only for PeerInfo::watched).
  virtual void process_gone(PeerId peer) = 0;
  /// Fill `batch` with at most kMaxBatch ids that share one mode and reason, and take them off the
  /// ledger's list; return how many; 0 when none is left. `batch.ids` comes empty.
  virtual std::size_t next_cancels(PeerId peer, CancelBatch& batch) = 0;
  /// Something worth a warning that belongs to no peer, or to one that sent no hello.
  virtual void trouble(std::string_view what) = 0;
  /// Only for counting. Unlike the rest, these two may come inside a call of the server.
  virtual void error_sent(ErrorCode code) = 0;
  virtual void peer_dropped(Drop why) = 0;
};

inline constexpr std::size_t kMaxBatch = 1024;

struct ServerOptions {
  std::string engine_socket;
  std::string admin_socket;  // empty: none
  mode_t mode{0660};
  std::vector<uid_t> allow_uids;  // in addition to the supervisor's own and 0
  bool allow_any_uid{false};      // of engines and shims; operators are still the listed ones
  std::size_t max_waiting{1024 * 1024};
  std::chrono::milliseconds stall_timeout{5'000};
  std::chrono::milliseconds hello_timeout{30'000};
  /// The limits of connections of the engine socket and of the admin socket; a further one receives
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

  /// Creates directories and sockets and begins to accept. The text of an error states what, where
  /// and why: "cannot listen on /run/lastcall/lastcall.sock: another process listens there".
  [[nodiscard]] std::optional<std::string> listen();

  /// Listens again where a socket's file was removed, as by a cleaner of temporary files, or its
  /// directory replaced, as by a volume that is mounted late. What was done is reported as trouble.
  void follow_sockets();

  // Calls with a peer that is gone or closing do nothing.

  void welcome(PeerId peer, Welcome const& welcome);
  /// Sends an error and closes. For a peer that was not welcomed the observer gets nothing more.
  void refuse(PeerId peer, ErrorCode code, std::string_view message);

  void send(PeerId peer, FromSupervisor const& message);
  /// With a `seq`, which is returned: the peer's Ack or Error names it. 0: the peer is gone.
  std::uint64_t send_acked(PeerId peer, FromSupervisor const& message);
  /// Does nothing without a `seq`. `result` is a JSON value as text, or empty.
  void ack(PeerId peer, Seq seq, std::string_view result = {});
  void error(PeerId peer, Seq seq, ErrorCode code, std::string_view message);
  /// next_cancels() has something for this peer.
  void cancels_ready(PeerId peer);
  /// Writes what waits, to all peers, now rather than at the end of this turn: before work that a
  /// cancel should not wait for.
  void flush();

  /// Writes what waits, then closes; disconnected() follows.
  void close(PeerId peer);
  /// Stops listening, removes the socket files, closes every peer as close() does.
  void close_all();
  /// Whether every byte has been sent, for a process that is about to exit.
  [[nodiscard]] bool is_flushed() const;
  /// The observer needs neither info() nor process_gone() of this peer any more; closes it too.
  void forget(PeerId peer);

  [[nodiscard]] PeerInfo const* info(PeerId peer) const;
  /// The descriptor that the peer passed with its hello (SCM_RIGHTS), to be asked for while it is
  /// taken in; empty: none. The caller that takes it has to look what it is.
  [[nodiscard]] Descriptor take_passed(PeerId peer);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lastcall::ipc
