// What any client can send to the ports for probes, hooks and operators, up to the end of its head.
// Checked, on a stack as small as that of the threads that read it:
//  1. the answer is one whole response, which our own parser reads to its end;
//  2. the handler is asked at most once, with a path and headers that hold no line end;
//  3. what is not a head never reaches the handler.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/thread.hpp"
#include "probes/listener/http_exchange.hpp"
#include "probes/listener/http_head.hpp"
#include "relay/response_reader.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using fuzz::require;

bool is_line(std::string_view text) {
  return text.find_first_of("\r\n") == std::string_view::npos;
}

void check_request(probes::Request const& request) {
  require(!request.method.empty() && is_line(request.method));
  require(!request.path.empty() && is_line(request.path));
  for (auto const& [name, value] : request.query) {
    require(is_line(name) && is_line(value));
  }
  for (auto const& [name, value] : request.headers) {
    require(!name.empty() && is_line(name) && is_line(value));
  }
}

/// One response up to its last byte, and nothing after it.
bool is_whole(std::string answer, bool is_head) {
  relay::ResponseReader reader;
  relay::ReadHead head;
  require(reader.read_head(answer, {.is_head = is_head}, head) && head.head.status >= 200);
  require(head.head.connection.has("close"));
  std::span<char> rest = reader.read_on(answer, head);
  while (!rest.empty() && reader.state() == relay::ResponseState::body) {
    static_cast<void>(reader.read_body(rest));
  }
  return rest.empty() && reader.state() == relay::ResponseState::complete;
}

void check(std::string_view bytes) {
  int asked = 0;
  bool is_head = false;
  std::string const answer = probes::answer_head(bytes, [&](probes::Request const& request) {
    ++asked;
    check_request(request);
    is_head = request.method == "HEAD";
    return probes::Reply{.body = "no such path: " + request.path + "\n",
                         .headers = {{"X-Path", request.path}}};
  });
  require(asked <= 1);
  // A head that cannot be read does not show whether its request was a HEAD.
  require(is_whole(answer, is_head) || (asked == 0 && is_whole(answer, true)));
  require(probes::answer_head(bytes, [](auto const&) { return std::nullopt; }).empty() ==
          (asked == 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  std::size_t const end = probes::find_head_end(bytes);
  if (end == 0 || end > probes::kMaxHead) {
    return 0;  // the listener answers these by itself, or waits
  }
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 300, .besides = 40'000});
  SmallThread thread;
  require(thread.start("probes", [head = bytes.substr(0, end)] { check(head); }) == 0);
  thread.join();
  return 0;
}
