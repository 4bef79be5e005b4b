#include "ipc/field_error.hpp"

#include "base/utf8.hpp"
#include "base/words.hpp"

namespace lastcall::ipc {

std::string one_of(std::span<std::string_view const> words) {
  return "one of " + joined(words, ", ");
}

std::string quoted(std::string_view given) {
  constexpr std::size_t kMost = 40;
  std::string_view const shown = utf8::prefix(given, kMost);
  return "'" + std::string(shown) + (shown.size() < given.size() ? "...'" : "'");
}

void FieldError::fail(std::string_view key, std::string_view problem) {
  if (!text_) {
    text_ = "field '" + std::string(place_) + std::string(key) + "': " + std::string(problem);
  }
}

void FieldError::missing(std::string_view key, std::string_view expected) {
  fail(key, "is missing, expected " + std::string(expected));
}

void FieldError::unexpected(std::string_view key, std::string_view expected,
                            std::string_view given) {
  fail(key, "expected " + std::string(expected) + ", got " + std::string(given));
}

void FieldError::refuse_version(std::uint64_t given) {
  if (!text_) {
    text_ = "this side speaks version " + std::to_string(kProtocolVersion) + ", not " +
            std::to_string(given);
    code_ = ErrorCode::version;
  }
}

}  // namespace lastcall::ipc
