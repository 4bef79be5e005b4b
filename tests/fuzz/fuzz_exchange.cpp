// A whole exchange: a client's request and what an engine answers, through the relay's machines.
// Checked:
//  1. any split of the bytes gives both sides the same: payloads, counts of events and bytes,
//     states;
//  2. http_parser, which others wrote, reads what the client gets as the message that it is meant
//     to be, and finds one that was cut or that broke not complete;
//  3. a stream of events that was cut has whole events before its error event;
//  4. no byte from outside asks a machine for a move that is not in its table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "relay/http_text.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/http_reading.hpp"
#include "tests/fuzz/work.hpp"
#include "tests/unit/relay/whole_exchange.hpp"

namespace {

using namespace lastcall;
using fuzz::require;
using relay::DeliveryState;
using relay::test::Result;
using relay::test::Script;
using relay::test::Split;

constexpr std::string_view kRequests[] = {
    "GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
    "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
};
constexpr std::size_t kHead = 4;

/// Status and payload of the last message that the client gets; bytes that are not HTTP/1.1 any
/// more (a tunnel, a body that only its connection ends) are compared as they are.
std::pair<unsigned, std::string> framing(Script const& script, Result const& result) {
  if (result.wire.empty()) {
    return {};
  }
  bool const is_head = script.request.starts_with("HEAD");
  relay::test::Read const read = relay::test::read_final(result.wire, is_head);
  return {read.status, read.payload};
}

void same(Script const& script, Result const& a, Result const& b) {
  require(a.refused == b.refused && a.request == b.request && a.rest == b.rest);
  require(a.delivery == b.delivery && a.after == b.after);
  require(a.leg == b.leg || (a.held && script.dies));  // nothing is read after that
  require(a.farewell == b.farewell && a.outcome == b.outcome && a.held == b.held);
  require(a.events == b.events && a.bytes == b.bytes && a.first_bytes == b.first_bytes);
  require(framing(script, a) == framing(script, b));
}

bool same_letters(char a, char b) {
  return relay::http_text::lower(a) == relay::http_text::lower(b);
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  while (true) {
    auto const next = std::ranges::search(text, word, same_letters);
    if (next.empty()) {
      return found;
    }
    ++found;
    text = std::string_view(next.end(), text.end());
  }
}

void check_wire(Script const& script, Result const& result) {
  bool const is_plain = script.request.starts_with("POST") || script.request.starts_with("GET /v1");
  if (!is_plain || result.wire.empty() || result.wire.starts_with("HTTP/1.1 1")) {
    return;  // that parser does not know the request, which decides how the answer is framed
  }
  if (count(script.response, "transfer-encoding") != count(script.response, "transfer-encoding:")) {
    return;  // it takes a longer name for the field: http_differences.cpp
  }
  auto const [status, payload] = framing(script, result);
  if (status < 200 || status == 204 || status == 304) {
    return;  // it reads a body there: http_differences.cpp
  }
  fuzz::Reading const read = fuzz::read_http_parser(result.wire, fuzz::Side::responses);
  if (read.stopped == fuzz::Stopped::refused || read.stopped == fuzz::Stopped::tunnel) {
    return;  // fields that it takes for something else, which http_responses is about
  }
  bool const is_refusal = result.farewell == relay::Farewell::refusal;
  if (result.delivery == DeliveryState::done || is_refusal) {
    require(!read.messages.empty() && read.messages.back().end == result.wire.size());
    require(read.messages.back().body == payload);
  } else {
    require(read.stopped == fuzz::Stopped::incomplete);
  }
}

void check_cut(Script const& script, Result const& result) {
  if (result.farewell == relay::Farewell::error_event) {
    std::string const payload = framing(script, result).second;
    std::size_t const error = payload.rfind("event: error\ndata: {\"error\":");
    require(error != payload.npos);
    char const last = error == 0 ? '\n' : payload[error - 1];
    require(last == '\n' || last == '\r');
  }
}

Result bounded_run(Script const& script) {
  std::size_t const bytes = script.request.size() + script.response.size();
  fuzz::BoundedWork const work(bytes, {.a_byte = 500, .besides = 100'000});
  return run(script, {}, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < kHead) {
    return 0;
  }
  fuzz::Choices choices(data, kHead);
  Script script{.request = std::string(choices.of(kRequests)),
                .response = std::string(data + kHead, data + size)};
  std::uint8_t const flags = choices.byte();
  script.engine_ends = (flags & 1U) != 0;
  script.engine_ends_in_order = (flags & 2U) != 0;
  script.engine_may_be_dying = (flags & 4U) != 0;
  script.dies = (flags & 8U) != 0;
  script.is_closing = (flags & 16U) != 0;
  std::size_t const step = 1 + choices.below(9);
  std::size_t const cut = choices.byte();
  if ((flags & 32U) != 0) {
    script.cut_after = std::min(cut * 4, script.response.size());
  }
  Result const whole = bounded_run(script);
  Result const by_byte = run(script, {.step = 1}, {.step = 1});
  Result const by_step = run(script, {.step = step}, {.step = step});
  Result const in_two = run(script, {}, {.at = {cut}});
  // If several errors end in one read, the first decides.
  if (count(script.response, "error") < 2) {
    same(script, whole, by_byte);
    same(script, whole, by_step);
    same(script, whole, in_two);
  }
  check_wire(script, whole);
  check_cut(script, whole);
  return 0;
}
