#include "base/json_reader.hpp"

#include "base/json_escape.hpp"
#include "base/json_scanner.hpp"
#include "base/parse_number.hpp"

namespace lastcall::json {

std::optional<SyntaxError> read_object(std::string_view text, std::vector<Member>& members,
                                       std::span<Inner> inner, std::size_t most) {
  forget(inner);
  Scanner scanner(text, most);
  scanner.end(scanner.list(scanner.past_space(scanner.begin()), 1, members, inner));
  return scanner.error();
}

std::optional<SyntaxError> read_array(std::string_view text, std::vector<Value>& elements,
                                      std::size_t most) {
  Scanner scanner(text, most);
  scanner.end(scanner.array(scanner.past_space(scanner.begin()), 1, &elements, nullptr));
  return scanner.error();
}

bool is_value(std::string_view text) {
  Scanner scanner(text);
  Value value;
  scanner.end(scanner.value(scanner.begin(), 0, value));
  return !scanner.error();
}

std::string to_string(Value const& string) {
  std::string_view const text = string.text;
  if (!string.escaped) {
    return std::string(text);
  }
  std::string out;
  out.reserve(text.size());
  append_unescaped(out, text);
  return out;
}

std::string_view unescaped(Value const& string, std::string& room) {
  if (!string.escaped) {
    return string.text;
  }
  return room = to_string(string);
}

bool is_true(Value const& boolean) {
  return boolean.text == "true";
}

std::optional<std::uint64_t> to_unsigned(Value const& number) {
  return parse_number<std::uint64_t>(number.text);
}

std::optional<double> to_double(Value const& number) {
  return parse_number<double>(number.text);
}

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::number:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
  }
  return "nothing";
}

}  // namespace lastcall::json
