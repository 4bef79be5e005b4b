// What a client can send as a path. Checked:
//  1. the decision is that about its meaning: a path of escapes alone, one with its slashes doubled
//     and one in other letters are decided as it is;
//  2. a dot segment is never relayed as something else;
//  3. work grows with the bytes alone, whatever is nested how deeply.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "relay/control_paths.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::relay;

ControlPaths const& table() {
  static ControlPaths const kTable({{"/metrics", Access::relay, true},
                                    {"/sleep", Access::operators, true},
                                    {"/update_weights*", Access::refuse, true},
                                    {"/v1/load_lora_adapter", Access::refuse, true},
                                    {"/v2/repository", Access::refuse, true},
                                    {"/*", Access::operators, false},
                                    {"/v1/*", Access::relay, false}});
  return kTable;
}

bool same(ControlPaths::Decision const& a, ControlPaths::Decision const& b) {
  return a.is_ambiguous == b.is_ambiguous &&
         (a.is_ambiguous || (a.access == b.access && a.is_control == b.is_control));
}

std::string spelled(std::string_view path, bool escapes, bool doubles) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  std::string out;
  for (char const c : path) {
    auto const byte = static_cast<unsigned char>(c);
    if (escapes) {
      out += '%';
      out += kDigits[byte / 16];
      out += kDigits[byte % 16];
    } else {
      out += c;
      out.append(doubles && c == '/' ? "/" : "");
    }
  }
  return out;
}

bool has_dot_segment(std::string_view path) {
  std::string const framed = std::string(path) + "/";
  return framed.find("/./") != std::string::npos || framed.find("/../") != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string text(data, data + size);
  text = "/" + text.substr(0, text.find('?'));
  ControlPaths::Decision decision;
  {
    lastcall::fuzz::BoundedWork const work(text.size(), {.a_byte = 60, .besides = 5'000});
    decision = table().decide(text + "?a=/../b");
  }
  bool holds = same(decision, table().decide(spelled(text, true, false))) &&
               same(decision, table().decide(spelled(text, false, true))) &&
               (decision.is_ambiguous || !has_dot_segment(text));
  if (text.find('%') == std::string::npos) {  // else a letter of an escape could become another
    for (char& c : text) {
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    holds = holds && same(decision, table().decide(text));
  }
  if (!holds) {
    std::abort();
  }
  return 0;
}
