#include <atomic>
#include <cstdint>
#include <mutex>

#include <lastcall/outgoing.hpp>

#include "base/json_escape.hpp"
#include "ipc/limits.hpp"
#include "sdk/cpp/request_ids.hpp"

namespace lastcall {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

/// Printable ASCII except '%' stays unchanged, so that decoding is unambiguous.
std::string to_header(std::string_view id) {
  std::string value;
  for (char const c : id) {
    if (c > ' ' && c < '\x7f' && c != '%') {
      value += c;
    } else {
      auto const byte = static_cast<unsigned char>(c);
      value += {'%', kHex[byte >> 4U], kHex[byte & 0xFU]};
    }
  }
  return value;
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
  std::string id;
  for (std::size_t i = 0; i < value.size(); ++i) {
    int const high = value[i] == '%' && i + 2 < value.size() ? json::hex_value(value[i + 1]) : -1;
    int const low = high < 0 ? -1 : json::hex_value(value[i + 2]);
    if (low >= 0) {
      id += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      id += value[i];
    }
  }
  return id;
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
