// The sessions that have something to write, until the turn of the loop ends.
//
// Invariants:
//  1. Lines that are queued within one turn leave in one write a session, in the order of the first
//     line.
//  2. While a Turn lives nothing is posted: its end writes. Outside of one, a turn of its own does.
//  3. Nothing is written inside the call that queues it.
//
// Thread rule: the thread that runs the io_context.
#pragma once

#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace lastcall::ipc {

class Session;

class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  /// As long as lines of one peer are being read.
  class Turn {
   public:
    explicit Turn(Outbox& outbox) : outbox_(outbox) { ++outbox_.turns_; }
    ~Turn();
    Turn(Turn const&) = delete;
    Turn& operator=(Turn const&) = delete;

   private:
    Outbox& outbox_;
  };

  explicit Outbox(boost::asio::io_context& io) : io_(io) {}

  /// Once a session until it was flushed.
  void add(std::shared_ptr<Session> session);
  /// Writes what waits now, before the turn ends.
  void flush();
  /// Sessions know their outbox: at the end one of the two has to let go.
  void clear() { due_.clear(); }

 private:
  void post();

  boost::asio::io_context& io_;
  std::vector<std::shared_ptr<Session>> due_;
  std::vector<std::shared_ptr<Session>> flushing_;
  int turns_{};
  bool is_posted_{};
};

}  // namespace lastcall::ipc
