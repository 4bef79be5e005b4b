#include "discovery/registry_set.hpp"

#include <utility>

#include <boost/asio/post.hpp>

#include "discovery/registry_set_state.hpp"

namespace lastcall::discovery {

using boost::system::error_code;

RegistrySet::RegistrySet(boost::asio::any_io_executor executor, OnChange on_change,
                         RegistrySetSettings settings)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_change), settings)) {}

RegistrySet::~RegistrySet() {
  // The registries go first, so that their running operations find no set to report to.
  state_->waiting.clear();
  state_->entries.clear();
}

void RegistrySet::add(std::string name, std::unique_ptr<Registry> registry) {
  auto& added = state_->entries.emplace_back(
      std::make_unique<State::Entry>(state_->executor, std::move(name), std::move(registry)));
  added->registry->set_on_lost(
      [weak = std::weak_ptr(state_), entry = added.get()](std::string const& reason) {
        if (auto const state = weak.lock()) {
          state->lost(*entry, reason);
        }
      });
}

void RegistrySet::note(std::string const& text) {
  for (auto const& entry : state_->entries) {
    entry->registry->note(text);
  }
}

void RegistrySet::register_all() {
  state_->disconnected = false;
  state_->end_removal("superseded by a new registration");
  for (auto const& entry : state_->entries) {
    if (entry->status.state != RegistryState::registered) {
      state_->want(*entry, State::Operation::enter);
    }
  }
}

void RegistrySet::deregister_all(TimePoint deadline, OnAll done, Leaving leaving) {
  state_->disconnected = false;
  state_->deadline = deadline;
  state_->waiting.push_back(std::move(done));
  state_->arm_deadline();
  for (auto const& entry : state_->entries) {
    bool const stays = leaving == Leaving::for_a_while && !entry->registry->may_enter_again();
    if (entry->status.state != RegistryState::deregistered && !stays) {
      state_->want(*entry, State::Operation::remove);
    }
  }
  boost::asio::post(state_->executor, [weak = std::weak_ptr(state_)] {
    if (auto const state = weak.lock()) {
      state->end_removal_if_over();  // nothing to remove
    }
  });
}

void RegistrySet::ask_all_to_leave() {
  state_->disconnected = false;
  for (auto const& entry : state_->entries) {
    if (entry->status.state != RegistryState::deregistered) {
      state_->want(*entry, State::Operation::remove);
    }
  }
}

void RegistrySet::disconnect_all(TimePoint deadline, OnAll done) {
  struct Farewell {
    explicit Farewell(boost::asio::any_io_executor const& executor) : timer(executor) {}
    void end(State const& state) {
      timer.cancel();
      if (auto const callback = std::exchange(done, nullptr)) {
        callback(state.all_status());
      }
    }
    OnAll done;
    std::size_t left = 1;  // one for the loop below
    boost::asio::steady_timer timer;
  };
  state_->disconnected = true;
  auto const farewell = std::make_shared<Farewell>(state_->executor);
  farewell->done = std::move(done);
  auto const one_less = [weak = std::weak_ptr(state_), farewell] {
    auto const state = weak.lock();
    if (--farewell->left == 0 && state) {
      farewell->end(*state);
    }
  };
  for (auto const& entry : state_->entries) {
    entry->wanted = State::Operation::none;
    entry->retry_timer.cancel();
    bool const asked = entry->registry->disconnect(
        deadline, [one_less, weak = std::weak_ptr(state_), &entry = *entry](RegistryResult result) {
          if (!weak.expired()) {
            entry.status.last_error = std::move(result.reason);
          }
          one_less();
        });
    farewell->left += asked ? 1 : 0;
  }
  farewell->timer.expires_at(deadline);
  farewell->timer.async_wait([weak = std::weak_ptr(state_), farewell](error_code error) {
    auto const state = weak.lock();
    if (!error && state) {
      farewell->end(*state);
    }
  });
  boost::asio::post(state_->executor, one_less);
}

std::vector<RegistryStatus> RegistrySet::status() const {
  return state_->all_status();
}

}  // namespace lastcall::discovery
