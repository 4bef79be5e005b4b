// A question that the router itself sends to a worker, and the worker's whole answer.
//
// Rules:
//  1. Its outcome counts neither for nor against a worker.
//  2. `done` is called once, never within ask(), and never after drop(): either with the answer or,
//     if that is incomplete or late, with a status of 0.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "relay/request_reader.hpp"
#include "router/alarms.hpp"
#include "router/fleet.hpp"
#include "router/leg.hpp"
#include "router/whole_answer.hpp"

namespace lastcall::router {

struct Parts;

class OwnQuestion final : public LegListener, public Sleeper {
 public:
  /// `head` is without the content length and the final empty line.
  struct Message {
    std::string head;
    std::string body{};
    relay::Asked asked{};
  };
  using Done = std::function<void(WholeAnswer const& answer)>;

  /// `parts` outlive this. `most` is the largest size of an answer in bytes.
  OwnQuestion(Parts& parts, std::size_t most) : parts_(parts), most_(most), answer_(most) {}
  ~OwnQuestion() { drop(); }

  /// Replaces the question that is being asked.
  void ask(std::shared_ptr<Worker> const& worker, Message message,
           std::chrono::milliseconds patience, Done done);
  void drop();

  // LegListener
  bool takes_response() const override { return true; }
  void leg_is_late(Leg& /*leg*/, Late /*how*/) override { give_up(); }
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override {}

  // Sleeper
  void alarm_rings() override { give_up(); }

 private:
  void give_up();
  void end(bool keep);

  Parts& parts_;
  std::size_t const most_;  // largest size of an answer in bytes
  std::string body_;
  relay::Asked asked_;
  WholeAnswer answer_;
  Done done_;
  std::unique_ptr<Leg> leg_;
};

}  // namespace lastcall::router
