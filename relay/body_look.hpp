// Reads `model` and `stream` from the start of a JSON body while it is relayed.
//
// Rules:
//  1. Only keys of the outermost object count, and only the first of each; nothing else is kept or
//     checked.
//  2. It ends when both were seen, when the object ends, when the text is not an object, or after
//     kMaxLook bytes; what is not known by then stays unknown.
//  3. Any split of the input gives the same answer.
//
// This is not a parser: the engine refuses bodies that are not JSON. Pure, no thread rule. Source:
// RFC 8259; the request bodies of the OpenAI, Anthropic and vLLM APIs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::relay {

class BodyLook {
 public:
  static constexpr std::size_t kMaxLook = 256 * 1024;
  static constexpr std::size_t kMaxModel = 256;

  /// Returns true when there is nothing more to find.
  bool feed(std::string_view bytes);
  bool is_done() const { return at_ == At::done; }
  /// The model; empty if it was not seen or is not a string. Malformed escapes stay as written.
  std::string const& model() const { return model_; }
  std::optional<bool> stream() const { return stream_; }

 private:
  enum class At : std::uint8_t {
    begin,
    key_or_end,  // of the outermost object
    key,
    colon,
    value,
    text,     // a string that is the value of an outer key
    literal,  // true, false, null or a number
    inner,    // inside an array or object
    inner_text,
    after_value,
    done,
  };
  enum class Wanted : std::uint8_t { nothing, model, stream };

  At next(char c);
  At begin_value(char c);
  At end_key();
  At end_text();
  At end_literal(char c);
  At after_value(char c);
  At inner(char c);

  std::string word_;  // the current key or value
  std::string model_;
  std::optional<bool> stream_;
  std::size_t looked_ = 0;
  std::uint32_t depth_ = 0;
  At at_ = At::begin;
  Wanted wanted_ = Wanted::nothing;
  bool escaped_ = false;
  bool model_seen_ = false;
};

}  // namespace lastcall::relay
