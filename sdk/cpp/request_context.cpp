#include <future>
#include <utility>

#include <lastcall/request_context.hpp>

#include "sdk/cpp/context_state.hpp"
#include "sdk/cpp/request_ids.hpp"

namespace lastcall {
namespace {

using sdk::Level;

bool wait(sdk::ContextState& state, Level level, std::chrono::milliseconds at_most) {
  auto const promise = std::make_shared<std::promise<void>>();
  auto const future = promise->get_future();
  auto const token =
      state.subscribe(level, [promise](RequestContext const&) { promise->set_value(); });
  bool const is_reached = future.wait_for(at_most) == std::future_status::ready;
  state.forget(token);
  return is_reached;
}

}  // namespace

RequestContext::RequestContext() : RequestContext(sdk::random_id()) {}

RequestContext::RequestContext(std::string id) {
  std::string checked = sdk::checked_id(std::move(id));
  std::string root = checked;
  state_ = std::make_shared<sdk::ContextState>(std::move(checked), std::move(root), nullptr);
}

RequestContext::RequestContext(std::string id, std::string root)
    : state_(std::make_shared<sdk::ContextState>(
          sdk::checked_id(std::move(id)), sdk::checked_id(std::move(root), "root"), nullptr)) {}

RequestContext::RequestContext(std::shared_ptr<sdk::ContextState> state)
    : state_(std::move(state)) {}

std::string const& RequestContext::id() const {
  return state_->id();
}

std::string const& RequestContext::root() const {
  return state_->root();
}

bool RequestContext::is_stopped() const {
  return state_->level() >= Level::stopped;
}

bool RequestContext::is_killed() const {
  return state_->level() >= Level::killed;
}

std::optional<Reason> RequestContext::reason() const {
  return state_->reason();
}

std::optional<Reason> RequestContext::cause() const {
  sdk::TreeLock lock;
  return state_->cause(lock);
}

std::optional<Outcome> RequestContext::outcome() const {
  sdk::TreeLock const lock;
  return state_->outcome(lock);
}

bool RequestContext::stop_generating(Reason reason) const {
  return state_->raise(Level::stopped, reason, std::nullopt, {});
}

bool RequestContext::stop(Reason reason) const {
  return state_->raise(Level::stopped, reason, std::nullopt, {});
}

bool RequestContext::kill(Reason reason) const {
  return state_->raise(Level::killed, reason, std::nullopt, {});
}

bool RequestContext::link_child(RequestContext const& child) const {
  return state_->link(child.state_);
}

RequestContext::CallbackId RequestContext::on_stop(Callback callback) const {
  return state_->subscribe(Level::stopped, std::move(callback));
}

RequestContext::CallbackId RequestContext::on_kill(Callback callback) const {
  return state_->subscribe(Level::killed, std::move(callback));
}

bool RequestContext::forget(CallbackId id) const {
  return state_->forget(id);
}

std::shared_future<void> RequestContext::stopped() const {
  return state_->futures().reached(*state_, Level::stopped);
}

std::shared_future<void> RequestContext::killed() const {
  return state_->futures().reached(*state_, Level::killed);
}

std::shared_future<bool> RequestContext::async_killed_or_stopped() const {
  return state_->futures().stopped_or_killed(*state_);
}

bool RequestContext::wait_stopped(std::chrono::milliseconds at_most) const {
  return wait(*state_, Level::stopped, at_most);
}

bool RequestContext::wait_killed(std::chrono::milliseconds at_most) const {
  return wait(*state_, Level::killed, at_most);
}

void RequestContext::progress() const {
  state_->progress();
}

bool RequestContext::confirm() const {
  return state_->confirm();
}

bool RequestContext::end() const {
  return state_->end(std::nullopt);
}

bool RequestContext::end(Outcome outcome) const {
  return state_->end(outcome);
}

}  // namespace lastcall
