#include "router/continuation/hint.hpp"

#include <algorithm>
#include <vector>

#include "base/json_reader.hpp"
#include "router/continuation/json_edits.hpp"

namespace lastcall::router::continuation {
namespace {

constexpr std::uint64_t kLongestDrain = std::uint64_t{24} * 3'600'000;  // milliseconds

}  // namespace

std::optional<Hint> read_hint(std::string_view comment) {
  constexpr std::string_view kName = " lastcall-handoff ";
  std::vector<json::Member> members;
  if (!comment.starts_with(kName) || json::read_object(comment.substr(kName.size()), members)) {
    return std::nullopt;
  }
  json::Value const* const id = find(members, "request_id");
  json::Value const* const deadline = find(members, "deadline_ms");
  std::optional<std::uint64_t> const ms =
      deadline != nullptr ? json::to_unsigned(*deadline) : std::nullopt;
  if (id == nullptr || id->kind != json::Kind::string || !ms) {
    return std::nullopt;
  }
  return Hint{json::to_string(*id), std::min(*ms, kLongestDrain)};
}

}  // namespace lastcall::router::continuation
