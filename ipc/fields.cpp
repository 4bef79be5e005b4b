#include "ipc/fields.hpp"

#include <algorithm>

namespace lastcall::ipc {
namespace {

using json::Kind;

std::string range(Bounds bounds) {
  return std::to_string(bounds.min) + " to " + std::to_string(bounds.max);
}

bool is_signal_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
}

/// The last one counts; it may be null.
json::Value const* find_any(std::vector<json::Member> const& members, std::string_view key) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    bool const same = member->key_escaped
                          ? json::to_string({Kind::string, true, member->key}) == key
                          : member->key == key;
    if (same) {
      return &member->value;
    }
  }
  return nullptr;
}

}  // namespace

json::Value const* Fields::find(std::string_view key) const {
  json::Value const* const value = find_any(members_, key);
  return value != nullptr && value->kind == Kind::null ? nullptr : value;
}

json::Value const* Fields::find_kind(std::string_view key, Kind kind, std::string_view expected) {
  json::Value const* const value = error_.is_set() ? nullptr : find(key);
  if (value == nullptr || value->kind == kind) {
    return value;
  }
  error_.unexpected(key, expected, json::describe(value->kind));
  return nullptr;
}

std::string Fields::bounded(std::string_view key, json::Value const& value, std::size_t min,
                            std::size_t max) {
  std::string text = json::to_string(value);
  if (text.size() < min || text.size() > max) {
    error_.unexpected(key, "a string of " + range({min, max}) + " bytes",
                      std::to_string(text.size()));
    return {};
  }
  return text;
}

void Fields::id(std::string_view key, std::string& to) {
  if (!has(key)) {
    error_.missing(key, "a string of " + range({1, kMaxId}) + " bytes");
  }
  optional_id(key, to);
}

void Fields::optional_id(std::string_view key, std::string& to) {
  if (json::Value const* const value = find_kind(key, Kind::string, "a string")) {
    to = bounded(key, *value, 1, kMaxId);
  }
}

void Fields::ids(std::string_view key, std::vector<std::string>& to) {
  if (!has(key)) {
    error_.missing(key, "an array of strings");
  }
  optional_ids(key, to);
}

void Fields::optional_ids(std::string_view key, std::vector<std::string>& to) {
  json::Value const* const list = find_kind(key, Kind::array, "an array of strings");
  if (list == nullptr) {
    return;
  }
  std::vector<json::Value> elements;
  json::read_array(list->text, elements);
  to.reserve(elements.size());
  for (json::Value const& element : elements) {
    if (element.kind != Kind::string) {
      return error_.unexpected(key, "an array of strings",
                               std::string(json::describe(element.kind)) + " in it");
    }
    to.push_back(bounded(key, element, 1, kMaxId));
    if (error_.is_set()) {
      return;
    }
  }
  if (to.empty()) {
    error_.unexpected(key, "at least one id", "an empty array");
  }
}

void Fields::text(std::string_view key, std::string& to, std::size_t max) {
  if (json::Value const* const value = find_kind(key, Kind::string, "a string")) {
    to = bounded(key, *value, 0, max);
  }
}

void Fields::required_text(std::string_view key, std::string& to, std::size_t max) {
  if (!has(key)) {
    error_.missing(key, "a string");
  }
  text(key, to, max);
}

void Fields::signal_name(std::string_view key, std::string& to) {
  required_text(key, to, kMaxSignalName);
  if (to.starts_with("SIG")) {
    to.erase(0, 3);
  }
  if (!error_.is_set() && (to.empty() || !std::all_of(to.begin(), to.end(), is_signal_letter))) {
    error_.unexpected(key, "a signal's name like TERM", quoted(to));
  }
}

void Fields::raw(std::string_view key, std::string& to) {
  json::Value const* const value = error_.is_set() ? nullptr : find(key);
  if (value != nullptr) {
    to = value->kind == Kind::string ? '"' + std::string(value->text) + '"' : value->text;
  }
}

void Fields::raw_object(std::string_view key, std::string& to) {
  if (json::Value const* const value = find_kind(key, Kind::object, "an object")) {
    to = value->text;
  } else {
    error_.missing(key, "an object");
  }
}

std::optional<bool> Fields::boolean_of(std::string_view key) {
  json::Value const* const value = find_kind(key, Kind::boolean, "true or false");
  return value == nullptr ? std::nullopt : std::optional(json::is_true(*value));
}

std::optional<std::uint64_t> Fields::number_of(std::string_view key, Bounds bounds) {
  json::Value const* const value = find_kind(key, Kind::number, "a whole number");
  if (value == nullptr) {
    return std::nullopt;
  }
  std::optional<std::uint64_t> const given = json::to_unsigned(*value);
  if (given && *given >= bounds.min && *given <= bounds.max) {
    return given;
  }
  error_.unexpected(key, "a whole number of " + range(bounds), quoted(value->text));
  return std::nullopt;
}

void Fields::require_number(std::string_view key, Bounds bounds) {
  if (!has(key)) {
    error_.missing(key, "a whole number of " + range(bounds));
  }
}

void Fields::duration(std::string_view key, Duration& to) {
  require_number(key, {});
  to = Duration(number_of(key, {}).value_or(0));
}

void Fields::duration(std::string_view key, std::optional<Duration>& to, Bounds bounds) {
  if (auto const ms = number_of(key, bounds)) {
    to = Duration(*ms);
  }
}

void Fields::instant(std::string_view key, Instant& to) {
  Duration since_boot{};
  duration(key, since_boot);
  to = Instant(since_boot);
}

void Fields::instant(std::string_view key, std::optional<Instant>& to) {
  if (auto const ms = number_of(key, {})) {
    to = Instant(Duration(*ms));
  }
}

bool Fields::clears(std::string_view key) const {
  json::Value const* const value = find_any(members_, key);
  return value != nullptr && value->kind == Kind::null;
}

void Fields::change(std::string_view key, Change<std::uint64_t>& to, Bounds bounds) {
  using Kind = Change<std::uint64_t>::Kind;
  if (clears(key)) {
    to.kind = Kind::clear;
  } else if (auto const given = number_of(key, bounds)) {
    to = {Kind::set, *given};
  }
}

void Fields::share(std::string_view key, Change<double>& to) {
  if (clears(key)) {
    to.kind = Change<double>::Kind::clear;
    return;
  }
  json::Value const* const value = find_kind(key, Kind::number, "a number of 0 to 1");
  if (value == nullptr) {
    return;
  }
  std::optional<double> const given = json::to_double(*value);
  if (!given || *given < 0 || *given > 1) {
    return error_.unexpected(key, "a number of 0 to 1", quoted(value->text));
  }
  to = {Change<double>::Kind::set, *given};
}

std::vector<json::Member> Fields::members_of(std::string_view key) {
  std::vector<json::Member> members;
  if (json::Value const* const value = find_kind(key, Kind::object, "an object")) {
    json::read_object(value->text, members);
  }
  return members;
}

}  // namespace lastcall::ipc
