#include <atomic>
#include <cstdint>
#include <mutex>

#include <lastcall/outgoing.hpp>

#include "base/percent.hpp"
#include "ipc/limits.hpp"
#include "sdk/cpp/request_ids.hpp"

namespace lastcall {
namespace {

/// Printable ASCII except '%' stays unchanged, so that decoding is unambiguous.
std::string to_header(std::string_view id) {
  return percent_encoded(id, [](char c) { return c > ' ' && c < '\x7f' && c != '%'; });
}

std::string call_id(std::string const& caller) {
  static std::atomic<std::uint64_t> calls{0};
  std::string id = caller + "/" + std::to_string(++calls);
  return id.size() <= ipc::kMaxId ? id : sdk::random_id();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> outgoing_headers(RequestContext const& context) {
  return {{"X-Request-Id", to_header(call_id(context.id()))},
          {"X-Lastcall-Root", to_header(context.root())},
          {"X-Lastcall-Parent", to_header(context.id())}};
}

std::string id_from_header(std::string_view value) {
  return percent_decoded(value);
}

struct AbortOnStop::Shared {
  std::mutex running;
  std::function<void()> abort;
};

AbortOnStop::AbortOnStop(RequestContext context, std::function<void()> abort)
    : AbortOnStop(std::move(context), std::move(abort), At::stop) {}

AbortOnStop::AbortOnStop(RequestContext context, std::function<void()> abort, At at)
    : context_(std::move(context)), shared_(std::make_shared<Shared>()), callback_([&] {
        shared_->abort = std::move(abort);
        RequestContext::Callback call = [shared = shared_](RequestContext const&) {
          std::lock_guard const lock(shared->running);
          if (shared->abort) {
            shared->abort();
          }
        };
        return at == At::stop ? context_.on_stop(std::move(call))
                              : context_.on_kill(std::move(call));
      }()) {}

AbortOnStop::~AbortOnStop() {
  context_.forget(callback_);
  std::lock_guard const lock(shared_->running);
  shared_->abort = nullptr;
}

}  // namespace lastcall
