// The input of one connection: reads bytes in turns, and passes on lines.
//
// Rules:
//  1. A turn takes at most 64 KiB, and a newcomer's turn only what comes with its hello. A turn
//     that was cut short continues where it stopped.
//  2. What a process had written when it ended is read in one turn (in slices, like everything, and
//     1 MiB at most): the shim's report of the end may have the next place.
//  3. Those who need what was sent wait for it (await_rest()); nothing is read outside of a turn.
//  4. No line is delivered while lines are held, or once the output is not open any more.
//
// Thread rule: the thread that runs the io_context. Source: turns.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>

#include "base/peer_id.hpp"
#include "ipc/line_buffer.hpp"
#include "ipc/peer_socket.hpp"
#include "ipc/session_output.hpp"
#include "ipc/turns.hpp"

namespace lastcall::ipc {

class SessionOwner;

class InputOwner {
 public:
  InputOwner() = default;
  virtual ~InputOwner() = default;
  InputOwner(InputOwner const&) = delete;
  InputOwner& operator=(InputOwner const&) = delete;

  /// A turn is over, and nothing more is there.
  virtual void wait_readable() = 0;
  /// The peer sends nothing more.
  virtual void input_ended(std::string_view why) = 0;
};

class SessionInput : public Reader {
 public:
  /// All but `lines` outlive it.
  SessionInput(PeerId id, PeerSocket& socket, SessionOutput const& output,
               std::weak_ptr<SessionOwner> lines, InputOwner& owner);

  /// The hello has arrived.
  void greeted();
  bool has_greeted() const { return has_greeted_; }
  /// From now on it is read before sessions without this right.
  void give_right_of_way() { right_ = Right::of_way; }

  Turn take_turn(TimePoint until) override;
  Right right() const override { return right_; }

  /// It was added to the turns.
  void due() { is_due_ = true; }
  /// The process that had connected has ended.
  void process_ended();
  /// The line that is being delivered is the last one until go_on(), after which the turns need it
  /// again.
  void hold() { is_held_ = true; }
  void go_on() { is_held_ = false; }
  bool is_held() const { return is_held_; }
  /// `received` is called once everything that is here now, the end of the stream included, was
  /// received; also if no line will be delivered any more. False if there is nothing to wait for.
  /// The call is made in the middle of a turn, so it may only add to the turns.
  bool await_rest(std::function<void()> received);
  /// No line will be delivered any more.
  void end_waits();
  void drop_lines() { buffer_ = {}; }

 private:
  struct Received {
    std::size_t bytes = 0;
    bool may_be_more = false;  // the room was filled
  };
  struct Waiting {
    std::uint64_t most = 0;  // the number of bytes after which it waits no longer
    std::function<void()> received;
  };

  Received receive();
  /// Returns whether lines may be left, because it is `until`.
  bool take_lines(TimePoint until);
  /// Ends the waits for no more than these bytes.
  void end_waits_up_to(std::uint64_t bytes);

  PeerId id_;
  PeerSocket& socket_;
  SessionOutput const& output_;
  std::weak_ptr<SessionOwner> lines_;
  InputOwner& owner_;
  LineBuffer buffer_;
  std::deque<Waiting> waiting_;
  std::uint64_t received_ = 0;    // bytes
  std::size_t of_this_turn_ = 0;  // bytes
  std::size_t of_the_dead_ = 0;   // bytes that its process had written when it ended, not read yet
  Right right_ = Right::newcomer;
  bool has_greeted_{};
  bool is_due_{};  // in the turns, or held
  bool is_held_{};
};

}  // namespace lastcall::ipc
