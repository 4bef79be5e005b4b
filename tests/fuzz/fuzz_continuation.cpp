// What engines send in the stream of a generation: chunks derived from a grammar, with any bytes
// among them, as one leg and as the leg of a continuation. What must hold:
//  1. the client gets the same however the bytes arrive;
//  2. its stream has at most one [DONE].
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "router/continuation/continuation.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using fuzz::require;
using router::continuation::Continuation;
using router::continuation::Mode;
using router::continuation::Progress;
using router::continuation::Received;

constexpr std::string_view kBodies[] = {
    R"({"messages":[{"role":"user","content":"a"}],"stream":true,"max_tokens":9})",
    R"({"messages":[{"role":"user","content":"a"}],"stream":true,"stop":["ab"],"tools":[{}]})",
    R"({"messages":[{"role":"user","content":"a"}],"stream":true,"n":2})",
    R"({"messages":[{"role":"user","content":"a"}],"stream":true,"return_token_ids":true})",
};
constexpr std::string_view kParts[] = {
    "data: ",
    "\n\n",
    "\r\n\r\n",
    "{\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{",
    "}",
    "}]",
    "\"content\":\"a\"",
    "\"content\":\"ab \"",
    "\"content\":\"\\u00e9\\n\"",
    "\"role\":\"assistant\"",
    "\"reasoning\":\"r\"",
    "\"tool_calls\":[{}]",
    ",",
    ",\"finish_reason\":\"stop\"",
    ",\"finish_reason\":\"abort\"",
    ",\"finish_reason\":null",
    ",\"token_ids\":[5]",
    ",\"token_ids\":[5,6]",
    ",\"token_ids\":[-1]",
    ",\"prompt_token_ids\":[1,2]",
    ",\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":1}",
    ",\"usage\":null",
    "[DONE]",
    "{\"error\":{\"code\":500}}",
    "event: error\n",
    ": ping\n\n",
    "id: 3\n",
    ": lastcall-handoff {\"request_id\":\"r\",\"deadline_ms\":5}\n\n",
    "data: "
    "{\"id\":\"b\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"token_ids\":[7]}],"
    "\"prompt_token_ids\":[1,2]}\n\n",
    "data: {\"id\":\"b\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: [DONE]\n\n",
};

std::string derive(fuzz::Choices& choose) {
  std::string stream;
  for (int parts = 0; parts < 120 && !choose.empty(); ++parts) {
    if (choose.one_in(24)) {
      stream += static_cast<char>(choose.byte());
    } else if (choose.one_in(200)) {
      break;
    }
    stream += choose.of(kParts);
  }
  return stream;
}

/// Reads two legs in pieces of these lengths, which repeat.
std::string run(std::string_view body, Mode mode, std::string_view first, std::string_view second,
                std::vector<std::size_t> const& steps) {
  fuzz::BoundedWork const work(first.size() + second.size(), {.a_byte = 6'000, .besides = 400'000});
  Continuation machine({.endpoint = "chat_completions", .body = body});
  std::string out;
  for (std::string_view leg : {first, second}) {
    machine.begin_leg(mode);
    Received received;
    for (std::size_t turn = 0; !leg.empty() && received.progress < Progress::done; ++turn) {
      std::string_view const part = leg.substr(0, steps[turn % steps.size()]);
      received = machine.receive(part, out);
      leg.remove_prefix(part.size());
    }
    received = received.progress < Progress::done ? machine.leg_ended(out) : received;
    if (received.progress == Progress::done || !machine.next(mode, out)) {
      break;
    }
  }
  return out;
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::Choices choose(data, size);
  std::string_view const body = choose.of(kBodies);
  constexpr std::array kModes{Mode::none, Mode::text, Mode::ids_vllm, Mode::ids_sglang};
  Mode const mode = choose.of(kModes);
  std::vector<std::size_t> steps;
  for (std::size_t i = choose.below(4) + 1; i > 0; --i) {
    steps.push_back(choose.below(64) + 1);
  }
  std::string const first = derive(choose);
  std::string const second = derive(choose);
  std::string const whole = run(body, mode, first, second, {first.size() + second.size() + 1});
  require(run(body, mode, first, second, steps) == whole, "the split matters", first + second);
  require(count(whole, "\ndata: [DONE]\n\n") <= 1, "two ends", whole);
  return 0;
}
