#include "discovery/ipc_registry.hpp"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lastcall::discovery {

struct IpcRegistry::State : std::enable_shared_from_this<IpcRegistry::State> {
  State(boost::asio::any_io_executor const& executor, AskAll ask, ExpectedUntil expected)
      : ask_all(std::move(ask)),
        expected_until(std::move(expected)),
        timer(executor),
        return_timer(executor) {}

  void report(RegistryResult result) {
    timer.cancel();
    return_timer.cancel();
    waiting_for.clear();
    is_waiting_for_a_return = false;
    ++round;
    if (auto const callback = std::exchange(done, nullptr)) {
      callback(std::move(result));
    }
  }

  void remove(PeerId peer) {
    if (done && waiting_for.erase(peer) != 0) {
      end_if_all_have_left();
    }
  }

  void end_if_all_have_left() {
    if (!done || !waiting_for.empty()) {
      return;
    }
    auto const until = expected_until();
    is_waiting_for_a_return = until.has_value();
    if (!until) {
      report(RegistryResult::ok());
      return;
    }
    return_timer.expires_at(*until);
    return_timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) {
        self->end_if_all_have_left();
      }
    });
  }

  /// Reports later, as promised to the caller.
  void post_if_nobody_is_left() {
    boost::asio::post(timer.get_executor(), [self = shared_from_this(), current = round] {
      if (self->round == current) {
        self->end_if_all_have_left();
      }
    });
  }

  void await(TimePoint deadline) {
    timer.expires_at(deadline);
    timer.async_wait([self = shared_from_this(), current = round](boost::system::error_code error) {
      if (!error && self->round == current) {
        self->report(RegistryResult::failed("no answer to deregister from " +
                                            std::to_string(self->waiting_for.size()) + " of " +
                                            std::to_string(self->asked) + " SDK peers"));
      }
    });
  }

  AskAll ask_all;
  ExpectedUntil expected_until;
  boost::asio::steady_timer timer;
  boost::asio::steady_timer return_timer;  // for peers that an earlier life had
  RegistryDone done;                       // empty: no operation is running
  std::set<PeerId> waiting_for;
  bool is_waiting_for_a_return = false;
  std::size_t asked = 0;
  std::uint64_t round = 0;
};

IpcRegistry::IpcRegistry(boost::asio::any_io_executor executor, AskAll ask_all,
                         ExpectedUntil expected_until)
    : state_(std::make_shared<State>(executor, std::move(ask_all), std::move(expected_until))) {}

IpcRegistry::~IpcRegistry() {
  state_->done = nullptr;
  state_->report({});
}

void IpcRegistry::register_instances(TimePoint, RegistryDone done) {
  boost::asio::post(state_->timer.get_executor(),
                    [state = std::weak_ptr(state_), done = std::move(done)] {
                      if (!state.expired()) {
                        done(RegistryResult::ok());
                      }
                    });
}

void IpcRegistry::deregister(TimePoint deadline, RegistryDone done) {
  state_->done = std::move(done);
  auto const peers = state_->ask_all();
  state_->waiting_for = {peers.begin(), peers.end()};
  state_->asked = state_->waiting_for.size();
  state_->await(deadline);
  state_->post_if_nobody_is_left();
}

void IpcRegistry::peer_joined(PeerId peer) {
  if (state_->done && state_->waiting_for.insert(peer).second) {
    ++state_->asked;
  }
}

void IpcRegistry::peer_done(PeerId peer) {
  state_->remove(peer);
}
void IpcRegistry::peer_gone(PeerId peer) {
  state_->remove(peer);
}

void IpcRegistry::peer_replaced(PeerId peer) {
  if (state_->done && state_->waiting_for.contains(peer)) {
    --state_->asked;
    state_->remove(peer);
  }
}

void IpcRegistry::peers_may_be_back() {
  if (state_->is_waiting_for_a_return) {
    state_->end_if_all_have_left();
  }
}

bool IpcRegistry::is_deregistering() const {
  return state_->done != nullptr;
}

}  // namespace lastcall::discovery
