#include "relay/priority.hpp"

#include <cstddef>
#include <string_view>

#include "core/admission_limits.hpp"
#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

/// The longest that all fields may be together; longer ones would cost too much and are ignored.
constexpr std::size_t kLongest = 512;

/// Removes the next member of a dictionary from `rest`, and returns it. Commas in strings and inner
/// lists belong to the member.
std::string_view next_member(std::string_view& rest) {
  bool in_string = false;
  std::size_t depth = 0;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    char const c = rest[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && depth > 0) {
      --depth;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  std::string_view const member = rest.substr(0, at);
  rest.remove_prefix(at < rest.size() ? at + 1 : rest.size());
  return http_text::trimmed(member);
}

}  // namespace

std::uint8_t priority_of(Fields const& fields) {
  std::uint8_t priority = lifecycle::kUsualPriority;
  std::size_t length = 0;
  for (Field const& field : fields) {
    if (!http_text::same(field.name, "priority")) {
      continue;
    }
    length += field.value.size();
    if (length > kLongest) {
      return lifecycle::kUsualPriority;
    }
    for (std::string_view rest = field.value; !rest.empty();) {
      std::string_view member = next_member(rest);
      member = member.substr(0, member.find(';'));  // without parameters
      if (member.substr(0, member.find('=')) != "u") {
        continue;
      }
      auto const urgency = http_text::parse_number(member.substr(member.size() > 1 ? 2 : 1));
      priority = urgency && *urgency < lifecycle::kPriorities ? static_cast<std::uint8_t>(*urgency)
                                                              : lifecycle::kUsualPriority;
    }
  }
  return priority;
}

}  // namespace lastcall::relay
