#include "ipc/fields.hpp"

#include <algorithm>

namespace lastcall::ipc {
namespace {

using json::Kind;

std::string range(std::uint64_t min, std::uint64_t max) {
  return std::to_string(min) + " to " + std::to_string(max);
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
    error_.unexpected(key, "a string of " + range(min, max) + " bytes",
                      std::to_string(text.size()));
    return {};
  }
  return text;
}

std::string Fields::id(std::string_view key) {
  std::string text = optional_id(key);
  if (text.empty() && !error_.is_set()) {
    error_.missing(key, "a string of " + range(1, kMaxId) + " bytes");
  }
  return text;
}

std::string Fields::optional_id(std::string_view key) {
  json::Value const* const value = find_kind(key, Kind::string, "a string");
  return value == nullptr ? std::string() : bounded(key, *value, 1, kMaxId);
}

std::vector<std::string> Fields::ids(std::string_view key) {
  std::vector<std::string> found;
  json::Value const* const list = find_kind(key, Kind::array, "an array of strings");
  if (list == nullptr) {
    if (!error_.is_set()) {
      error_.missing(key, "an array of strings");
    }
    return found;
  }
  std::vector<json::Value> elements;
  json::read_array(list->text, elements);
  found.reserve(elements.size());
  for (json::Value const& element : elements) {
    if (element.kind != Kind::string) {
      error_.unexpected(key, "an array of strings",
                        std::string(json::describe(element.kind)) + " in it");
      return {};
    }
    found.push_back(bounded(key, element, 1, kMaxId));
    if (error_.is_set()) {
      return {};
    }
  }
  if (found.empty()) {
    error_.unexpected(key, "at least one id", "an empty array");
  }
  return found;
}

std::string Fields::text(std::string_view key, std::size_t max) {
  json::Value const* const value = find_kind(key, Kind::string, "a string");
  return value == nullptr ? std::string() : bounded(key, *value, 0, max);
}

std::string Fields::required_text(std::string_view key, std::size_t max) {
  if (!has(key)) {
    error_.missing(key, "a string");
  }
  return text(key, max);
}

bool Fields::boolean(std::string_view key, bool absent) {
  return optional_boolean(key).value_or(absent);
}

std::optional<bool> Fields::optional_boolean(std::string_view key) {
  json::Value const* const value = find_kind(key, Kind::boolean, "true or false");
  return value == nullptr ? std::nullopt : std::optional(json::is_true(*value));
}

std::optional<std::uint64_t> Fields::number(std::string_view key, std::uint64_t min,
                                            std::uint64_t max) {
  json::Value const* const value = find_kind(key, Kind::number, "a whole number");
  std::optional<std::uint64_t> const given =
      value == nullptr ? std::nullopt : json::to_unsigned(*value);
  if (value != nullptr && (!given || *given < min || *given > max)) {
    error_.unexpected(key, "a whole number of " + range(min, max), quoted(value->text));
    return std::nullopt;
  }
  return given;
}

std::uint64_t Fields::required_number(std::string_view key, std::uint64_t min, std::uint64_t max) {
  std::optional<std::uint64_t> const value = number(key, min, max);
  if (!value && !error_.is_set()) {
    error_.missing(key, "a whole number of " + range(min, max));
  }
  return value.value_or(min);
}

std::optional<Duration> Fields::duration(std::string_view key, std::uint64_t min_ms) {
  std::optional<std::uint64_t> const ms = number(key, min_ms, kMaxMs);
  return ms ? std::optional(Duration(*ms)) : std::nullopt;
}

Duration Fields::required_duration(std::string_view key) {
  return Duration(required_number(key, 0, kMaxMs));
}

std::optional<Instant> Fields::instant(std::string_view key) {
  std::optional<Duration> const since_boot = duration(key);
  return since_boot ? std::optional(Instant(*since_boot)) : std::nullopt;
}

Instant Fields::required_instant(std::string_view key) {
  return Instant(required_duration(key));
}

Change<std::uint64_t> Fields::change(std::string_view key, std::uint64_t min, std::uint64_t max) {
  json::Value const* const value = find_any(members_, key);
  if (value != nullptr && value->kind == Kind::null) {
    return {Change<std::uint64_t>::Kind::clear, 0};
  }
  std::optional<std::uint64_t> const given = number(key, min, max);
  return given ? Change<std::uint64_t>{Change<std::uint64_t>::Kind::set, *given}
               : Change<std::uint64_t>{};
}

Change<double> Fields::share(std::string_view key) {
  json::Value const* const any = find_any(members_, key);
  if (any != nullptr && any->kind == Kind::null) {
    return {Change<double>::Kind::clear, 0};
  }
  json::Value const* const value = find_kind(key, Kind::number, "a number of 0 to 1");
  if (value == nullptr) {
    return {};
  }
  std::optional<double> const given = json::to_double(*value);
  if (!given || *given < 0 || *given > 1) {
    error_.unexpected(key, "a number of 0 to 1", quoted(value->text));
    return {};
  }
  return {Change<double>::Kind::set, *given};
}

std::string Fields::signal_name(std::string_view key) {
  std::string given = required_text(key, kMaxSignalName);
  if (given.starts_with("SIG")) {
    given.erase(0, 3);
  }
  if (!error_.is_set() &&
      (given.empty() || !std::all_of(given.begin(), given.end(), is_signal_letter))) {
    error_.unexpected(key, "a signal's name like TERM", quoted(given));
  }
  return given;
}

std::string Fields::raw(std::string_view key) {
  json::Value const* const value = error_.is_set() ? nullptr : find(key);
  if (value == nullptr) {
    return {};
  }
  return value->kind == Kind::string ? '"' + std::string(value->text) + '"'
                                     : std::string(value->text);
}

std::string Fields::required_raw_object(std::string_view key) {
  json::Value const* const value = find_kind(key, Kind::object, "an object");
  if (value == nullptr) {
    error_.missing(key, "an object");
    return {};
  }
  return std::string(value->text);
}

std::vector<json::Member> Fields::object(std::string_view key) {
  std::vector<json::Member> members;
  json::Value const* const value = find_kind(key, Kind::object, "an object");
  if (value != nullptr) {
    json::read_object(value->text, members);
  }
  return members;
}

}  // namespace lastcall::ipc
