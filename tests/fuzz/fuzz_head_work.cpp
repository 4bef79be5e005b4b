// What the dearest head of 32 kB costs, on its way through all that reads and rewrites a request's
// head. Checked: no shape takes more than three times the steps of the plainest one of that length,
// which is one long value.
//
// An input describes a head, so that few bytes make a long one and a small change is another shape.
// Its first line is the target, each other one a crowd of header lines:
//
//   BEGIN|UNIT|END          the target; UNIT is repeated as far as a target may be long
//   COUNT|BEGIN|UNIT|END    COUNT lines; UNIT is repeated until all of them fill the head evenly,
//                           and a # in BEGIN is the number of the line
//
// bench/hostile_topic.py measures the same shapes on the wire.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/control_paths.hpp"
#include "relay/endpoint_name.hpp"
#include "relay/head_writer.hpp"
#include "relay/priority.hpp"
#include "relay/request_reader.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::relay;

constexpr std::size_t kSize = 32'000;
constexpr std::size_t kLimit = 32'768;  // ingress.max_header_size
constexpr std::uint64_t kTimes = 3;

struct Pattern {
  std::size_t count = 1;
  std::string_view begin;
  std::string_view unit;
  std::string_view end;

  std::size_t fixed() const { return begin.size() + end.size() + 2; }
};

std::string_view take(std::string_view& rest, char mark) {
  std::size_t const at = rest.find(mark);
  std::string_view const part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

Pattern read_pattern(std::string_view line, bool has_count) {
  Pattern pattern;
  if (has_count) {
    std::string_view const digits = take(line, '|');
    std::from_chars(digits.data(), digits.data() + digits.size(), pattern.count);
    pattern.count = std::clamp<std::size_t>(pattern.count, 1, 2 * kMaxFields);
  }
  pattern.begin = take(line, '|');
  pattern.unit = take(line, '|');
  pattern.end = line;
  return pattern;
}

/// The number of the line replaces the first #. It has a fixed length, so that nothing else in a
/// head depends on it.
void append_begin(std::string& out, std::string_view begin, std::size_t number) {
  std::size_t const mark = begin.find('#');
  out.append(begin.substr(0, mark));
  if (mark != std::string_view::npos) {
    out.append(std::to_string(100 + number)).append(begin.substr(mark + 1));
  }
}

void append_units(std::string& out, std::string_view unit, std::size_t bytes) {
  for (std::size_t i = 0; !unit.empty() && i < bytes / unit.size(); ++i) {
    out.append(unit);
  }
}

std::string head_of(std::string_view input) {
  Pattern const target = read_pattern(take(input, '\n'), false);
  std::string out = "GET ";
  out.append(target.begin.substr(0, kMaxTarget));
  std::size_t const of_target = target.begin.size() + target.end.size();
  append_units(out, target.unit, of_target < kMaxTarget ? kMaxTarget - of_target : 0);
  out.append(target.end.substr(0, kMaxTarget)).append(" HTTP/1.1\r\n");
  std::vector<Pattern> crowds;
  std::size_t fixed = out.size() + 2;
  std::size_t growing = 0;
  while (!input.empty()) {
    crowds.push_back(read_pattern(take(input, '\n'), true));
    fixed += crowds.back().fixed() * crowds.back().count;
    growing += crowds.back().unit.empty() ? 0 : crowds.back().count;
  }
  std::size_t const share = growing == 0 || fixed > kSize ? 0 : (kSize - fixed) / growing;
  for (Pattern const& crowd : crowds) {
    for (std::size_t i = 0; i < crowd.count && out.size() < kSize; ++i) {
      append_begin(out, crowd.begin, i);
      append_units(out, crowd.unit, share);
      out.append(crowd.end).append("\r\n");
    }
  }
  constexpr std::string_view kFill = "X-Fill: \r\n\r\n";
  if (std::size_t const size = out.size() + kFill.size(); size < kSize) {
    out.append("X-Fill: ").append(kSize - size, 'a').append("\r\n");
  }
  return out.append("\r\n");
}

ControlPaths const& control_paths() {
  static ControlPaths const kTable({{"/metrics", Access::relay, true},
                                    {"/sleep", Access::operators, true},
                                    {"/abort_request", Access::operators, true},
                                    {"/update_weights*", Access::refuse, true},
                                    {"/v1/load_lora_adapter", Access::refuse, true},
                                    {"/v2/repository", Access::refuse, true}});
  return kTable;
}

/// Does with a head what ingress/client.cpp does, in the same order. `is_proxy`: the head comes
/// from a trusted proxy, whose statements about the client are kept.
void relay_head(std::string_view bytes, bool is_proxy) {
  RequestReader reader;
  TakenHead taken;
  if (reader.read(bytes, {.head = kLimit, .body = {}}, taken) != RequestReader::Found::complete) {
    return;
  }
  std::string_view const target = taken.destination.target;
  if (control_paths().decide(target).is_ambiguous) {
    return;
  }
  EndpointName const endpoint = endpoint_of(taken.head.method, target, taken.asked.is_upgrade);
  static_cast<void>(unescaped(endpoint.model));
  static_cast<void>(priority_of(taken.head.fields));
  std::string out;
  write_request_head(out, taken.head, taken.destination,
                     {.request_id = "0123456789abcdef0123456789abcdef",
                      .way = 1,
                      .client = "2001:db8::1",
                      .scheme = "https",
                      .is_proxy = is_proxy,
                      .keeps_underscores = is_proxy,
                      .upgrade = taken.asked.is_upgrade,
                      .body = taken.framing});
}

std::uint64_t count_plainest() {
  std::string const head = head_of("/v1/models\n1|Host: h\n1|X-Plain: |a|");
  std::uint64_t const before = lastcall::fuzz::steps_so_far();
  relay_head(head, false);
  return lastcall::fuzz::steps_so_far() - before;
}

std::uint64_t plainest() {
  static std::uint64_t const kSteps = count_plainest();
  return kSteps;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const head = head_of(std::string(data, data + size));
  lastcall::fuzz::MostWork const most{.a_byte = kTimes * plainest(), .besides = 0};
  for (bool const is_proxy : {false, true}) {
    lastcall::fuzz::BoundedWork const work(1, most);
    relay_head(head, is_proxy);
  }
  return 0;
}
