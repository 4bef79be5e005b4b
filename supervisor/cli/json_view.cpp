#include "supervisor/cli/json_view.hpp"

#include <string_view>

#include "base/visible_text.hpp"

namespace lastcall::cli {

std::string member_text(JsonValue const& object, char const* key, std::string fallback) {
  auto const found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return fallback;
  }
  std::string_view const text = found->get_ref<std::string const&>();
  return visible(text.substr(0, text.find('\n')));
}

std::int64_t member_number(JsonValue const& object, char const* key, std::int64_t fallback) {
  auto const found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : fallback;
}

bool member_flag(JsonValue const& object, char const* key) {
  auto const found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string painted(std::string const& text, bool good, ViewOptions options) {
  return options.color ? (good ? "\033[32m" : "\033[33m") + text + "\033[0m" : text;
}

}  // namespace lastcall::cli
