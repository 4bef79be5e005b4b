#include <algorithm>
#include <optional>

#include <lastcall/stop_channel.hpp>

#include "base/ascii.hpp"
#include "ipc/limits.hpp"
#include "sdk/cpp/request_ids.hpp"

namespace lastcall {
namespace {

constexpr std::string_view kCalls = "/lastcall/calls/";
constexpr std::size_t kLeastSecret = 32;

/// A shorter text could be guessed.
bool is_secret(std::string_view text) {
  return text.size() >= kLeastSecret && text.size() <= ipc::kMaxId &&
         std::all_of(text.begin(), text.end(), ascii::is_letter_or_digit);
}

}  // namespace

StopChannel::StopChannel() : secret_(sdk::random_id()) {}

std::string StopChannel::path() const {
  return std::string(kCalls) + secret_;
}

StoppableCalls::Call::Call(StoppableCalls& calls, std::string_view channel, RequestContext context)
    : calls_(calls) {
  if (!is_secret(channel)) {
    return;
  }
  std::lock_guard const lock(calls_.mutex_);
  if (calls_.calls_.emplace(channel, std::move(context)).second) {
    channel_ = channel;
  }
}

StoppableCalls::Call::~Call() {
  decltype(calls_.calls_)::node_type over;  // destroyed without the lock: it may run user code
  if (!channel_.empty()) {
    std::lock_guard const lock(calls_.mutex_);
    over = calls_.calls_.extract(channel_);
  }
}

bool StoppableCalls::stop(std::string_view path) {
  if (path.substr(0, kCalls.size()) != kCalls) {
    return false;
  }
  std::optional<RequestContext> called;
  {
    std::lock_guard const lock(mutex_);
    auto const found = calls_.find(std::string(path.substr(kCalls.size())));
    if (found == calls_.end()) {
      return false;
    }
    called = found->second;
  }
  called->stop(Reason::parent);  // its callbacks run without the lock
  return true;
}

}  // namespace lastcall
