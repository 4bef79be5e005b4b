#include "inject/value.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/words.hpp"
#include "config/text.hpp"

namespace lastcall::inject {
namespace {

constexpr std::size_t kLongestFlow = 96;

std::string quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      ((out += "\\u00") += kDigits[byte >> 4U]) += kDigits[byte & 0xFU];
    } else {
      out += c;
    }
  }
  return out + '"';
}

using ascii::is_letter;

/// Whether every reader takes the unquoted text for a text, in brackets as well.
bool is_plain(std::string_view text) {
  constexpr std::string_view kSafe = "0123456789/._-";
  auto const is_safe = [&](char c) {
    return is_letter(c) || kSafe.find(c) != std::string_view::npos;
  };
  bool const begins_well =
      !text.empty() && (is_letter(text[0]) || text[0] == '/' ||
                        (text.starts_with("--") && text.size() > 2 && is_letter(text[2])));
  return begins_well && std::all_of(text.begin(), text.end(), is_safe) &&
         config::plain_type(text) == config::PlainType::text;
}

std::string scalar(Value const& value) {
  return value.kind == Value::Kind::literal || is_plain(value.text) ? value.text
                                                                    : quoted(value.text);
}

/// Writes the value on one line, as JSON or as YAML.
std::string one_line(Value const& value, bool as_json) {
  auto const word = [&](std::string const& text) {
    return as_json || !is_plain(text) ? quoted(text) : text;
  };
  if (!value.is_collection()) {
    return as_json && value.kind == Value::Kind::text ? quoted(value.text) : scalar(value);
  }
  bool const is_list = value.kind == Value::Kind::list;
  std::string out = is_list ? "[" : "{";
  for (Value const& item : value.items) {
    out += (out.size() > 1 ? ", " : "") + one_line(item, as_json);
  }
  for (Member const& member : value.members) {
    out += out.size() > 1 ? ", " : "";
    out += word(member.key) + ": " + one_line(member.value, as_json);
  }
  return out + (is_list ? "]" : "}");
}

/// Whether it is readable in brackets, which deeper nesting is not.
bool is_short(Value const& value) {
  auto const is_flat = [](Value const& part) { return !part.is_collection(); };
  bool const is_simple =
      std::all_of(value.items.begin(), value.items.end(), is_flat) &&
      std::all_of(value.members.begin(), value.members.end(), [&](Member const& member) {
        return is_flat(member.value) ||
               (member.value.items.size() + member.value.members.size()) < 3;
      });
  return is_simple && to_flow(value).size() <= kLongestFlow;
}

std::vector<std::string> parts_of(Value const& value, std::size_t indent) {
  std::vector<std::string> lines;
  for (Value const& item : value.items) {
    std::vector<std::string> const more = item_lines(item, indent);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  for (Member const& member : value.members) {
    std::vector<std::string> const more = entry_lines(member, indent);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

/// Whether it is written as a block scalar: a text of several lines, such as a configuration.
bool is_block(Value const& value) {
  return value.kind == Value::Kind::text && value.text.ends_with('\n') && value.text.size() > 1 &&
         value.text[value.text.size() - 2] != '\n' && value.text[0] != ' ' &&
         value.text[0] != '\n' && value.text.find_first_of("\t\r") == std::string::npos;
}

std::vector<std::string> block_lines(std::string_view text, std::size_t indent) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view const line = take_part(text, '\n');
    lines.push_back(line.empty() ? std::string() : std::string(indent, ' ') + std::string(line));
  }
  return lines;
}

}  // namespace

Value::Value(std::string string) : text(std::move(string)) {}
Value::Value(std::string_view string) : text(string) {}
Value::Value(char const* string) : text(string) {}
Value::Value(Kind of_kind) : kind(of_kind) {}

Value Value::number(std::int64_t number) {
  Value value(Kind::literal);
  value.text = std::to_string(number);
  return value;
}

Value Value::boolean(bool yes) {
  Value value(Kind::literal);
  value.text = yes ? "true" : "false";
  return value;
}

Value Value::list(std::vector<Value> items) {
  Value value(Kind::list);
  value.items = std::move(items);
  return value;
}

Value Value::map(std::vector<Member> members) {
  Value value(Kind::map);
  value.members = std::move(members);
  return value;
}

std::string to_json(Value const& value) {
  return one_line(value, true);
}

std::string to_flow(Value const& value) {
  return one_line(value, false);
}

std::vector<std::string> entry_lines(Member const& member, std::size_t indent, Layout layout) {
  std::string const head = std::string(indent, ' ') + scalar(Value(member.key)) + ":";
  std::vector<std::string> lines;
  if (is_block(member.value)) {
    lines = block_lines(member.value.text, indent + 2);
    lines.insert(lines.begin(), head + " |");
  } else if (!member.value.is_collection() ||
             (layout == Layout::compact && is_short(member.value))) {
    lines.push_back(head + " " + to_flow(member.value));
  } else {
    lines = parts_of(member.value, indent + 2);
    lines.insert(lines.begin(), head);
  }
  return lines;
}

std::vector<std::string> item_lines(Value const& value, std::size_t indent) {
  std::string const dash = std::string(indent, ' ') + "- ";
  if (!value.is_collection() || is_short(value)) {
    return {dash + to_flow(value)};
  }
  std::vector<std::string> lines = parts_of(value, indent + 2);
  lines.front().replace(0, dash.size(), dash);
  return lines;
}

}  // namespace lastcall::inject
