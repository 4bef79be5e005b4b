#include <array>
#include <stdexcept>
#include <utility>

#include <lastcall/request_context.hpp>
#include <sys/random.h>

#include "base/utf8.hpp"
#include "ipc/limits.hpp"
#include "sdk/cpp/context_state.hpp"

namespace lastcall {
namespace sdk {
namespace {

bool wait(ContextState& state, Level level, std::chrono::milliseconds at_most) {
  auto const promise = std::make_shared<std::promise<void>>();
  auto const future = promise->get_future();
  auto const token =
      state.subscribe(level, [promise](RequestContext const&) { promise->set_value(); });
  bool const is_reached = future.wait_for(at_most) == std::future_status::ready;
  state.forget(token);
  return is_reached;
}

}  // namespace

std::string checked_id(std::string id, char const* what) {
  std::string const cannot = std::string("cannot use this ") + what + ": ";
  if (id.empty()) {
    throw std::invalid_argument(cannot + "it is empty, expected 1 to 256 bytes");
  }
  if (id.size() > ipc::kMaxId) {
    throw std::invalid_argument(cannot + std::to_string(id.size()) + " bytes, at most " +
                                std::to_string(ipc::kMaxId));
  }
  if (!utf8::is_valid(id)) {
    throw std::invalid_argument(cannot + "expected valid UTF-8");
  }
  return id;
}

std::string random_id() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot make a request id: the kernel gives no random bytes");
  }
  std::string id;
  for (unsigned char const byte : bytes) {
    id += kHex[byte >> 4U];
    id += kHex[byte & 0xFU];
  }
  return id;
}

}  // namespace sdk

using sdk::Level;

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
  return state_->cause();
}

std::optional<Outcome> RequestContext::outcome() const {
  return state_->outcome();
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
  return state_->reached(Level::stopped);
}

std::shared_future<void> RequestContext::killed() const {
  return state_->reached(Level::killed);
}

std::shared_future<bool> RequestContext::async_killed_or_stopped() const {
  return state_->stopped_or_killed();
}

bool RequestContext::wait_stopped(std::chrono::milliseconds at_most) const {
  return sdk::wait(*state_, Level::stopped, at_most);
}

bool RequestContext::wait_killed(std::chrono::milliseconds at_most) const {
  return sdk::wait(*state_, Level::killed, at_most);
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
