#include "ipc/last_words.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace lastcall::ipc {

/// Waits for connections: one round for all of them, because each may have more when it is looked
/// at later.
class LastWords::Rest : public Reader, public std::enable_shared_from_this<Rest> {
 public:
  Rest(std::weak_ptr<LastWords> owner, Right right) : owner_(std::move(owner)), right_(right) {}

  Turn take_turn(TimePoint until) final;
  Right right() const final { return right_; }

 protected:
  void wait_for(std::vector<PeerId> connections) { connections_ = std::move(connections); }

 private:
  /// Does a part of what comes before; true once all is done.
  virtual bool begin(LastWords& owner) = 0;
  /// Does a part of what had to wait; true once all is done.
  virtual bool finish(LastWords& owner) = 0;

  enum class Step : std::uint8_t { beginning, looking, waiting, closing, finishing };

  bool is_past_all(Step next);
  void look(LastWords& owner);
  void close(LastWords& owner);
  void received();

  std::weak_ptr<LastWords> owner_;
  std::vector<PeerId> connections_;
  std::size_t next_ = 0;     // of the connections
  std::size_t awaited_ = 0;  // connections that have something
  Step step_ = Step::beginning;
  Right const right_;
};

Turn LastWords::Rest::take_turn(TimePoint until) {
  while (auto const owner = owner_.lock()) {
    switch (step_) {
      case Step::beginning:
        step_ = begin(*owner) ? Step::looking : Step::beginning;
        break;
      case Step::looking:
        if (is_past_all(Step::waiting)) {
          continue;  // at once: it may be in the turns only once
        }
        look(*owner);
        break;
      case Step::waiting:
        if (awaited_ > 0) {
          return Turn::over;  // the last of them adds this to the turns again
        }
        step_ = Step::closing;
        break;
      case Step::closing:
        if (!is_past_all(Step::finishing)) {
          close(*owner);
        }
        break;
      case Step::finishing:
        if (finish(*owner)) {
          return Turn::over;
        }
        break;
    }
    if (TimePoint::clock::now() >= until) {
      return Turn::cut;
    }
  }
  return Turn::over;
}

/// Once all connections had their step, the `next` one begins.
bool LastWords::Rest::is_past_all(Step next) {
  if (next_ < connections_.size()) {
    return false;
  }
  next_ = 0;
  step_ = next;
  return true;
}

void LastWords::Rest::look(LastWords& owner) {
  auto const peer = owner.peers_.find(connections_[next_++]);
  if (peer &&
      peer->session->input().await_rest([self = shared_from_this()] { self->received(); })) {
    ++awaited_;
  }
}

void LastWords::Rest::received() {
  auto const owner = owner_.lock();
  if (--awaited_ == 0 && step_ == Step::waiting && owner) {
    owner->turns_->add_at(*this, shared_from_this());
  }
}

void LastWords::Rest::close(LastWords& owner) {
  auto const peer = owner.peers_.find(connections_[next_++]);
  if (peer && peer->session->has_peer_closed()) {
    owner.handlers_.closed(peer->id);  // answers to it are still written
  }
}

class LastWords::RestOfTheDead final : public Rest {
 public:
  RestOfTheDead(std::weak_ptr<LastWords> owner, Right right, Origin origin)
      : Rest(std::move(owner), right), origin_(origin) {}

  void add(PeerId peer) { peers_.push_back(peer); }

 private:
  bool begin(LastWords& owner) override;
  bool finish(LastWords& owner) override;

  Origin origin_;
  int left_to_accept_ = kBacklog + 1;  // what can have waited when the process ended
  std::vector<PeerId> peers_;
  std::size_t reported_ = 0;  // of them
};

bool LastWords::RestOfTheDead::begin(LastWords& owner) {
  if (!origin_.is_admin && left_to_accept_-- > 0 && owner.listeners_.accept_engine_now()) {
    return false;
  }
  wait_for(owner.peers_.of_process(origin_));
  if (origin_.process == 0) {
    // What is reported from now on may be another process, which was not looked for.
    owner.dead_.erase(origin_);
  }
  return true;
}

bool LastWords::RestOfTheDead::finish(LastWords& owner) {
  if (reported_ < peers_.size()) {
    owner.handlers_.gone(peers_[reported_++]);
    return false;
  }
  if (origin_.process != 0) {
    owner.dead_.erase(origin_);
  }
  return true;
}

class LastWords::RestBeforeHello final : public Rest {
 public:
  RestBeforeHello(std::weak_ptr<LastWords> owner, std::vector<PeerId> earlier,
                  std::shared_ptr<Session> session, std::function<void()> then)
      : Rest(std::move(owner), session->input().right()),
        session_(std::move(session)),
        then_(std::move(then)) {
    wait_for(std::move(earlier));
  }

 private:
  bool begin(LastWords&) override { return true; }
  bool finish(LastWords&) override {
    then_();
    session_->go_on();
    return true;
  }

  std::shared_ptr<Session> session_;
  std::function<void()> then_;
};

LastWords::LastWords(Peers const& peers, Listeners& listeners, std::shared_ptr<Turns> turns,
                     Handlers handlers)
    : peers_(peers),
      listeners_(listeners),
      turns_(std::move(turns)),
      handlers_(std::move(handlers)) {}

void LastWords::process_ended(Peer const& peer) {
  Origin const origin = peer.origin();
  auto& rest = dead_[origin];
  if (!rest) {
    bool const has_way = peer.session->input().right() == Right::of_way;
    rest = std::make_shared<RestOfTheDead>(weak_from_this(), has_way ? Right::of_way : Right::crowd,
                                           origin);
    turns_->add(rest);
  }
  rest->add(peer.id);
}

bool LastWords::before_hello(Peer const& peer, std::function<void()> then) {
  auto earlier = peers_.of_process(peer.origin(), peer.id);
  if (earlier.empty()) {
    return false;
  }
  peer.session->hold_lines();
  turns_->add_at(peer.session->input(),
                 std::make_shared<RestBeforeHello>(weak_from_this(), std::move(earlier),
                                                   peer.session, std::move(then)));
  return true;
}

}  // namespace lastcall::ipc
