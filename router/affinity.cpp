#include "router/affinity.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "router/continuation/request.hpp"

namespace lastcall::router {
namespace {

/// The first is the text before the prompt. A request has one of the others.
constexpr std::array kPrompts = std::to_array<std::string_view>(
    {"system", "messages", "prompt", "text", "input_ids", "input", "query"});

}  // namespace

std::uint64_t stable_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char const byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return hash;
}

std::optional<std::uint64_t> prefix_key(std::string_view body, std::size_t most) {
  std::vector<json::Member> members;
  if (json::read_object(body, members, {}, continuation::kMostMembers)) {
    return std::nullopt;
  }
  std::string prefix;
  for (std::string_view const name : kPrompts) {
    for (json::Member const& member : members) {
      if (member.key == name && prefix.size() < most) {
        prefix.append(member.value.text.substr(0, most - prefix.size()));
      }
    }
  }
  return prefix.empty() ? std::nullopt : std::optional(stable_hash(prefix));
}

}  // namespace lastcall::router
