// The input of one connection: reads bytes in turns, and passes on lines.
//
// Rules:
//  1. A turn takes 64 KiB at most, that of a newcomer what comes with its hello. One that was cut
//     goes on where it was.
//  2. read_up_to() does not wait for turns, because its caller needs what was sent.
//  3. No line is delivered once the output is not open any more.
//
// Thread rule: the thread that runs the io_context. Source: turns.hpp.
#pragma once

#include <cstddef>
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
  void give_right_of_way() { right_ = Right::of_way; }

  Turn take_turn(TimePoint until) override;
  Right right() const override { return right_; }

  /// Reads until nothing is left or `most` bytes have arrived.
  void read_up_to(std::size_t most, bool until_nothing_is_left = false);
  void drop_lines() { buffer_ = {}; }

 private:
  struct Received {
    std::size_t bytes = 0;
    bool may_be_more = false;  // the room was filled
  };

  Received receive();
  /// Returns whether lines may be left, because it is `until`.
  bool take_lines(TimePoint until);

  PeerId id_;
  PeerSocket& socket_;
  SessionOutput const& output_;
  std::weak_ptr<SessionOwner> lines_;
  InputOwner& owner_;
  LineBuffer buffer_;
  std::size_t of_this_turn_ = 0;  // bytes
  Right right_ = Right::newcomer;
  bool has_greeted_{};
};

}  // namespace lastcall::ipc
