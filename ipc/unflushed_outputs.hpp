// Collects the outputs of sessions that have something to write until the turn of the loop ends.
//
// Invariants:
//  1. Lines that are queued within one turn are sent in one write per session; the outputs are in
//     the order of their first lines.
//  2. The end of a Turn writes. Without a Turn, a separate turn of the loop is posted that writes.
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

class SessionOutput;

class UnflushedOutputs : public std::enable_shared_from_this<UnflushedOutputs> {
 public:
  /// Lives while lines of one peer are being read.
  class Turn {
   public:
    explicit Turn(UnflushedOutputs& outputs) : outputs_(outputs) { ++outputs_.turns_; }
    ~Turn();
    Turn(Turn const&) = delete;
    Turn& operator=(Turn const&) = delete;

   private:
    UnflushedOutputs& outputs_;
  };

  explicit UnflushedOutputs(boost::asio::io_context& io) : io_(io) {}

  /// Called once per output until it was flushed.
  void add(std::shared_ptr<SessionOutput> output);
  /// Writes all queued lines now, before the turn ends.
  void flush();
  /// Releases the outputs: they refer to this, so the cycle has to be broken at the end.
  void clear() { due_.clear(); }

 private:
  void post();

  boost::asio::io_context& io_;
  std::vector<std::shared_ptr<SessionOutput>> due_;
  std::vector<std::shared_ptr<SessionOutput>> flushing_;
  int turns_{};
  bool is_posted_{};
};

}  // namespace lastcall::ipc
