// A question that the router itself sends to a worker, outside of user traffic, and its whole
// answer.
//
// Rules:
//  1. It is marked as the router's own by `X-Lastcall-Probe`, and by `X-Lastcall-Parent` because an
//     ingress does not pass the former on. It is not counted as a user's request.
//  2. Its outcome counts neither for nor against a worker.
//  3. `done` is called once, never within ask(), and never after drop(): either with the answer or,
//     if that is incomplete, with a status of 0.
//
// Thread rule: the router's thread. Source: docs/router.md, 'What a worker can do'.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "router/fleet.hpp"
#include "router/leg.hpp"
#include "router/whole_answer.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

struct Parts;

class OwnQuestion final : public LegListener {
 public:
  /// The question; `body` is absent for a GET.
  struct Message {
    std::string_view path;
    std::string body{};
    std::string more{};  // more header lines
  };
  using Done = std::function<void(WholeAnswer const& answer)>;

  /// `io` and `parts` outlive this. `most` is the largest size of an answer in bytes.
  OwnQuestion(boost::asio::io_context& io, Parts& parts, std::size_t most);
  ~OwnQuestion();

  void ask(std::shared_ptr<Worker> const& worker, Message message,
           std::chrono::milliseconds patience, Done done);
  void drop();

  // LegListener
  bool takes_response() const override { return true; }
  void leg_is_late(Leg& leg, Late how) override;
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override {}

 private:
  struct Timer;
  void give_up();
  void end(bool keep);

  Parts& parts_;
  std::size_t const most_;  // largest size of an answer in bytes
  std::string body_;
  WholeAnswer answer_;
  Done done_;
  std::unique_ptr<Leg> leg_;
  std::shared_ptr<Timer> timer_;
};

}  // namespace lastcall::router
