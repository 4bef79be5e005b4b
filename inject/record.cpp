#include "inject/record.hpp"

#include <algorithm>

namespace lastcall::inject {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find(at), text.size());
    if (end > 0) {
      parts.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::string to_text(Record const& record) {
  std::string text = "container=" + record.container;
  text += record.path.empty() ? "" : " at=" + record.path;
  char const* before = " made=";
  for (std::string const& key : record.made) {
    text += before + key;
    before = ",";
  }
  before = " was=";
  for (auto const& [key, raw] : record.was) {
    text += before + key + ":" + raw;
    before = ",";
  }
  before = " secrets=";
  for (std::string const& name : record.secrets) {
    text += before + name;
    before = ",";
  }
  return text;
}

std::optional<Record> parse_record(std::string_view text) {
  Record record;
  for (std::string_view const part : split(text, ' ')) {
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
      for (std::string_view const key : split(value, ',')) {
        record.made.emplace(key);
      }
    } else if (part.starts_with("secrets=")) {
      for (std::string_view const name : split(value, ',')) {
        record.secrets.emplace_back(name);
      }
    } else if (part.starts_with("was=")) {
      for (std::string_view const pair : split(value, ',')) {
        std::size_t const colon = std::min(pair.find(':'), pair.size());
        record.was.emplace(pair.substr(0, colon), pair.substr(std::min(colon + 1, pair.size())));
      }
    }
  }
  return record.container.empty() ? std::nullopt : std::optional(record);
}

}  // namespace lastcall::inject
