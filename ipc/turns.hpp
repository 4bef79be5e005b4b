// Decides which of the sessions that have something to read is read next, and for how long.
//
// Invariants:
//  1. One handler of the loop at a time reads, for kSlice at most and one line more. Then
//     everything else of the loop has its turn, however many peers send.
//  2. Sessions are read in the order in which they became readable, so that what a process sent
//     before it ended comes before what the shim reports of its end. Only rule 3 overrides this.
//  3. A session is late once kPatience whole slices have passed since it became readable; slices
//     are counted instead of time, because a loop that was suspended has no crowd. Of four turns,
//     two go to late sessions with the right of way (the shim, once it is welcome, and operators),
//     one to a late peer that has not sent its hello, because it may be a shim, and one to the
//     session that has waited longest, so that no group starves the others.
//  4. The lines that are sent in one slice go out in one write per session.
//  5. A reader that waited for others, or whose slice was over, goes on at the place it had.
//
// Thread rule: the thread that runs the io_context.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace lastcall::ipc {

class UnflushedOutputs;

enum class Turn : std::uint8_t {
  over,   // nothing more is there
  again,  // others come first
  cut,    // the time was over
};
enum class Right : std::uint8_t { of_way, newcomer, crowd };

/// A session, or what waits for sessions, as far as its turns are concerned.
class Reader {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Reader() = default;
  virtual ~Reader() = default;
  Reader(Reader const&) = delete;
  Reader& operator=(Reader const&) = delete;

  /// Reads a part, until `until` at most.
  virtual Turn take_turn(TimePoint until) = 0;
  virtual Right right() const = 0;

 private:
  friend class Turns;

  std::uint64_t place_ = 0;  // in the order of all readers
  std::uint64_t slice_ = 0;  // the number of whole slices before
};

class Turns : public std::enable_shared_from_this<Turns> {
 public:
  Turns(boost::asio::io_context& io, std::shared_ptr<UnflushedOutputs> unflushed);

  std::shared_ptr<UnflushedOutputs> const& unflushed() const { return unflushed_; }
  /// The reader has something to read; it is added once until its turn is over.
  void add(std::shared_ptr<Reader> reader);
  /// The same, at the place that `other` has or had last: it may be the reader itself.
  void add_at(Reader const& other, std::shared_ptr<Reader> reader);
  /// Releases the readers: they refer to their turns, so the cycle has to be broken at the end.
  void clear();

 private:
  using Queue = std::deque<std::shared_ptr<Reader>>;  // in the order of their places

  void post();
  void take_a_slice();
  Queue* next();

  boost::asio::io_context& io_;
  std::shared_ptr<UnflushedOutputs> unflushed_;
  std::array<Queue, 3> queues_;  // by Right
  std::uint64_t places_{};
  std::uint64_t slices_{};  // that took all of their time
  unsigned turns_{};
  bool is_posted_{};
};

}  // namespace lastcall::ipc
