#include "inject/record.hpp"

#include "base/words.hpp"

namespace lastcall::inject {
namespace {

/// Adds the list if it has items.
void add_list(std::string& text, char const* key, std::string const& items) {
  if (!items.empty()) {
    text += key + items;
  }
}

}  // namespace

std::string to_text(Record const& record) {
  std::string text = "container=" + record.container;
  text += record.path.empty() ? "" : " at=" + record.path;
  add_list(text, " made=", joined(record.made, ","));
  add_list(text, " was=", joined(record.was, ",", [](auto const& one) {
             return one.first + ":" + one.second;
           }));
  add_list(text, " secrets=", joined(record.secrets, ","));
  return text;
}

std::optional<Record> parse_record(std::string_view text) {
  Record record;
  for (std::string_view const part : split(text, " ")) {
    std::size_t const equals = part.find('=');
    if (equals == std::string_view::npos) {
      return std::nullopt;
    }
    std::string_view const value = part.substr(equals + 1);
    if (part.starts_with("container=")) {
      record.container = value;
    } else if (part.starts_with("at=")) {
      record.path = value;
    } else if (part.starts_with("made=")) {
      for (std::string_view const key : split(value, ",")) {
        record.made.emplace(key);
      }
    } else if (part.starts_with("secrets=")) {
      for (std::string_view const name : split(value, ",")) {
        record.secrets.emplace_back(name);
      }
    } else if (part.starts_with("was=")) {
      for (std::string_view pair : split(value, ",")) {
        std::string_view const key = take_part(pair, ':');
        record.was.emplace(key, pair);
      }
    }
  }
  return record.container.empty() ? std::nullopt : std::optional(record);
}

}  // namespace lastcall::inject
