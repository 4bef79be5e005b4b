// The thread of an HttpListener: it accepts connections, reads heads, writes answers, and ends
// exchanges that take too long.
//
// Invariants are the listener's (listener.hpp). A connection is in one state:
//   reading    the head, and a body where one is taken; bounded by head_timeout in total
//   deferred   the handler will answer later; only the handler bounds it
//   writing    the answer; bounded by write_timeout, and all of them together by kMostUnread
//   lingering  the answer is sent, but unread bytes of the body would turn our close into a reset
//              that destroys the answer (RFC 9112, 9.6): they are read and dropped until kLinger
//              ends
//
// Thread rule: open() and close() from the owner's thread, everything else on the server's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/thread.hpp"
#include "probes/listener/closing_order.hpp"
#include "probes/listener/epoll_set.hpp"
#include "probes/listener/listener.hpp"
#include "probes/listener/listening_socket.hpp"
#include "probes/listener/responder.hpp"

namespace lastcall::probes {

class HttpListener::Server {
 public:
  Server(ListenerSettings settings, Handler handler);
  ~Server() { close(std::chrono::milliseconds{0}); }

  std::optional<std::string> open();
  void close(std::chrono::milliseconds linger);
  std::string const& host() const { return socket_.host; }
  std::uint16_t port() const { return socket_.port; }

 private:
  using Clock = std::chrono::steady_clock;
  using Id = std::uint64_t;
  enum class State : std::uint8_t { reading, deferred, writing, lingering };
  struct Connection {
    Descriptor descriptor;
    State state = State::reading;
    std::optional<Clock::time_point> deadline;
    std::string input;  // the head, and the bytes that arrived with it
    std::size_t head_size = 0;
    std::size_t body_size = 0;
    std::string output;
    std::size_t written = 0;

    /// Drops what the client sends after its answer; false when it sends no more.
    bool forget_input();
  };
  using Connections = std::map<Id, Connection>;  // ids rise: the first is the oldest

  void run();
  void accept_all();
  bool accept_one();
  bool make_room();
  void pause_accepting();
  void on_ready(Id id);
  bool read_head(Id id, Connection& connection);
  std::optional<bool> read_body(Id id, Connection& connection);
  void ask_handler(Id id, Connection& connection);
  bool write_some(Id id, Connection& connection);
  void deliver_letters();
  void begin_closing();
  void drop_overdue(Clock::time_point now);
  int next_timeout(Clock::time_point now) const;

  ListenerSettings const settings_;
  Handler const handler_;
  std::shared_ptr<Mailbox> const mailbox_ = std::make_shared<Mailbox>();
  ListeningSocket socket_;
  EpollSet watched_;
  SmallThread thread_;

  ClosingOrder closing_;
  std::optional<Clock::time_point> accept_again_at_;  // set while we lack descriptors
  Connections connections_;
  Id next_id_;
};

}  // namespace lastcall::probes
