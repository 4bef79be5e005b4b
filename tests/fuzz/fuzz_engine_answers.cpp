// What an engine answers to the questions of checks, the probe of a token and the router, as any
// bytes: JSON, the text of metrics, the words of a failed check. Checked:
//  1. what stands in an answer is found only where it stands: a model's id in the list, a load that
//     is a count, a token in a choice;
//  2. sums of metrics are the same however the text arrives;
//  3. what is quoted is one line, without orders to a terminal that are one byte long.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probes/checks/engine_answers.hpp"
#include "probes/checks/prometheus_text.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::probes;
using lastcall::fuzz::require;

constexpr std::size_t kMostQuoted = 512;
constexpr char const* kRunning = "vllm:num_requests_running";
constexpr char const* kTokens = "vllm:generation_tokens_total";
constexpr char const* kRank = "engine";

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

void as_json(std::string_view bytes) {
  bool const may_have_escapes = has(bytes, "\\");
  ListedModel const first = first_model(bytes);
  require(!first.id || may_have_escapes || has(bytes, *first.id));
  require(first.owner.empty() || may_have_escapes || has(bytes, first.owner));
  require(!is_true(bytes, "is_sleeping") || may_have_escapes || has(bytes, "is_sleeping"));
  require(!load_in(bytes) || may_have_escapes || has(bytes, "server_load"));
  require(!why_no_token(bytes).empty() || may_have_escapes || has(bytes, "finish_reason"));
}

PrometheusText read_in(std::string_view bytes, std::size_t step) {
  PrometheusText text({kRunning, kTokens}, kRank);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    text.take(bytes.substr(0, step));
  }
  text.finish();
  return text;
}

void as_metrics(std::string_view bytes) {
  PrometheusText const whole = read_in(bytes, bytes.size() + 1);
  PrometheusText const pieces = read_in(bytes, 7);
  for (char const* const name : {kRunning, kTokens}) {
    std::optional<double> const sum = whole.sum(name);
    require(sum == pieces.sum(name) && whole.least(name) == pieces.least(name));
    require(whole.values(name) == pieces.values(name));
    require(whole.values(name).size() <= PrometheusText::kMostValues);
    require(!sum || *sum >= 0);
  }
}

void as_words(std::string_view bytes) {
  std::string const text = quoted_body(bytes);
  require(text.size() <= kMostQuoted);
  require(std::all_of(text.begin(), text.end(),
                      [](char c) { return (c < 0 || c >= ' ') && c != '\x7f'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 2'000, .besides = 200'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  as_json(bytes);
  as_metrics(bytes);
  as_words(bytes);
  return 0;
}
