// Prints rows: their values, types, ranges and expectations.
#include <array>
#include <charconv>

#include "base/overloaded.hpp"
#include "config/keys.hpp"

namespace lastcall::config {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string plain_or_quoted(std::string_view text) {
  bool const is_plain =
      plain_type(text) == PlainType::text &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._") ==
          std::string_view::npos;
  return is_plain ? std::string(text) : quoted(text);
}

std::string scalar(bool value) {
  return value ? "true" : "false";
}
std::string scalar(std::string const& value) {
  return plain_or_quoted(value);
}
std::string scalar(Duration value) {
  return to_text(value);
}
std::string scalar(std::uint32_t value) {
  return std::to_string(value);
}
std::string scalar(std::uint64_t value) {
  return std::to_string(value);
}
std::string scalar(Address const& value) {
  return quoted(to_text(value));
}
std::string scalar(double value) {
  std::array<char, 32> buffer{};
  auto const [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string();
}

template <class T>
std::string scalar(std::vector<T> const& list) {
  std::string out = "[";
  for (T const& value : list) {
    out += (out.size() > 1 ? ", " : "") + scalar(value);
  }
  return out + "]";
}

template <class T>
std::string scalar(std::optional<T> const& value) {
  return value ? scalar(*value) : std::string();
}

std::string octal(std::uint32_t mode) {
  std::array<char, 16> buffer{};
  auto const [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), mode, 8);
  return error == std::errc{} ? "\"0" + std::string(buffer.data(), end) + "\"" : std::string();
}

std::string flow_map(Keys const& keys);

std::string list_text(Items const& list) {
  if (!list.is_set()) {
    return "";
  }
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    out += (i > 0 ? ", " : "") + flow_map(list.at(i));
  }
  return out + "]";
}

std::string flow_map(Keys const& keys) {
  std::string out = "{";
  for (Key const& key : keys) {
    std::string entry;
    if (OneOf const* one_of = std::get_if<OneOf>(&key.slot)) {
      Alternative const& held = one_of->alternatives[one_of->held()];
      entry = std::string(held.name) + ": " + flow_map(held.select());
    } else if (std::string const value = value_text(key); !value.empty()) {
      entry = std::string(key.path) + ": " + value;
    }
    if (!entry.empty()) {
      out += (out.size() > 1 ? ", " : "") + entry;
    }
  }
  return out + "}";
}

struct TypeText {
  using Text = std::string_view;

  template <class T>
  Text operator()(std::optional<T>* /*at*/) const {
    return (*this)(static_cast<T*>(nullptr));
  }
  Text operator()(bool* /*at*/) const { return "boolean"; }
  Text operator()(std::string* /*at*/) const { return "text"; }
  Text operator()(Duration* /*at*/) const { return "duration"; }
  Text operator()(std::uint32_t* /*at*/) const { return "whole number"; }
  Text operator()(std::uint64_t* /*at*/) const { return "whole number"; }
  Text operator()(double* /*at*/) const { return "number"; }
  Text operator()(Address* /*at*/) const { return "address"; }
  Text operator()(std::vector<std::string>* /*at*/) const { return "list of texts"; }
  Text operator()(std::vector<std::uint32_t>* /*at*/) const { return "list of whole numbers"; }
  Text operator()(FileMode const& /*mode*/) const { return "quoted octal mode"; }
  Text operator()(Uids const& /*uids*/) const { return "list of whole numbers, or any"; }
  Text operator()(Choice const& /*choice*/) const { return "choice"; }
  Text operator()(Section const& /*section*/) const { return "section"; }
  Text operator()(Items const& /*items*/) const { return "list of sections"; }
  Text operator()(OneOf const& /*one_of*/) const { return "one of"; }
};

std::string join(std::span<std::string_view const> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string with_range(std::string_view text, Key const& key) {
  std::string const range = range_text(key);
  if (!key.allowed.empty()) {
    return range;
  }
  return range.empty() ? std::string(text) : std::string(text) + ", " + range;
}

}  // namespace

std::string value_text(Key const& key) {
  return std::visit(
      Overloaded{[](Section const&) { return std::string(); },
                 [](OneOf const&) { return std::string(); },
                 [](Items const& list) { return list_text(list); },
                 [](Choice const& choice) { return std::string(choice.names[choice.get()]); },
                 [](FileMode const& mode) { return octal(*mode.at); },
                 [](Uids const& uids) {
                   return uids.at->any ? std::string("any") : scalar(uids.at->listed);
                 },
                 [&](std::string* at) {
                   bool const is_unset = at->empty() && !key.unset.empty();
                   return is_unset ? std::string() : scalar(*at);
                 },
                 [](auto* at) { return scalar(*at); }},
      key.slot);
}

std::string_view type_text(Key const& key) {
  return std::visit(TypeText(), key.slot);
}

std::string range_text(Key const& key) {
  bool const is_address = std::holds_alternative<Address*>(key.slot) ||
                          std::holds_alternative<std::optional<Address>*>(key.slot);
  if (!key.allowed.empty()) {
    std::string text;
    for (std::uint32_t const value : key.allowed) {
      text += (text.empty()                  ? ""
               : value == key.allowed.back() ? " or "
                                             : ", ") +
              std::to_string(value);
    }
    return text;
  }
  if (!key.range || is_address) {
    return "";
  }
  bool const is_duration = std::holds_alternative<Duration*>(key.slot) ||
                           std::holds_alternative<std::optional<Duration>*>(key.slot);
  auto const text = [&](std::int64_t bound) {
    return is_duration ? to_text(Duration{bound}) : std::to_string(bound);
  };
  return text(key.range->minimum) + " to " + text(key.range->maximum);
}

std::string element_expectation(Key const& key) {
  if (key.form != nullptr) {
    return std::string(key.form->expected);
  }
  std::string_view const type = type_text(key);
  if (type == "duration") {
    return with_range("a duration such as 60s, 500ms or 2m", key);
  }
  if (type == "boolean") {
    return "true or false";
  }
  if (type == "number") {
    return with_range("a number", key);
  }
  if (type == "text" || type == "list of texts") {
    return "a text";
  }
  return with_range("a whole number", key);
}

std::string expectation(Key const& key) {
  if (Choice const* choice = std::get_if<Choice>(&key.slot)) {
    return join(choice->names);
  }
  if (std::holds_alternative<FileMode>(key.slot)) {
    return "a quoted octal mode such as \"0660\"";
  }
  if (std::holds_alternative<Uids>(key.slot)) {
    return "any, or a list of values, each " + element_expectation(key);
  }
  std::string_view const type = type_text(key);
  if (type == "address") {
    return key.local ? "an IP address and a port such as [::]:7090 or 0.0.0.0:7090"
                     : "a host and a port such as 127.0.0.1:8000";
  }
  if (type == "list of texts" || type == "list of whole numbers") {
    return "a list of values, each " + element_expectation(key);
  }
  if (type == "list of sections") {
    return "a list of sections";
  }
  if (type == "section") {
    return "a section of keys";
  }
  return element_expectation(key);
}

}  // namespace lastcall::config
