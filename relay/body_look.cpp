#include "relay/body_look.hpp"

#include <algorithm>

#include "base/json_reader.hpp"

namespace lastcall::relay {
namespace {

constexpr std::size_t kMaxKey = 8;  // a longer key is none of those

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// A model whose escapes are malformed stays as it is written, so that no worker has it.
std::string unescaped(std::string const& written) {
  bool const has_escapes = written.find('\\') != std::string::npos;
  bool const is_valid = has_escapes && json::is_value('"' + written + '"');
  return is_valid ? json::to_string({json::Kind::string, true, written}) : written;
}

}  // namespace

bool BodyLook::feed(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size() && at_ != At::done; ++i) {
    // Most of a body is a prompt, so this is the fast path.
    if (at_ == At::inner_text && !escaped_) {
      std::size_t const end = bytes.find_first_of("\"\\", i);
      if (end == std::string_view::npos) {
        break;
      }
      i = end;
    }
    at_ = next(bytes[i]);
  }
  looked_ += bytes.size();
  if (looked_ >= kMaxLook) {
    at_ = At::done;
  }
  return at_ == At::done;
}

BodyLook::At BodyLook::next(char c) {
  bool const is_in_text = at_ == At::key || at_ == At::text || at_ == At::inner_text;
  if (!is_in_text && is_space(c)) {
    return at_ == At::literal ? end_literal(' ') : at_;
  }
  switch (at_) {
    case At::begin:
      return c == '{' ? At::key_or_end : At::done;
    case At::key_or_end:
      word_.clear();
      return c == '"' ? At::key : At::done;
    case At::key:
    case At::text:
    case At::inner_text: {
      bool const ends = c == '"' && !escaped_;
      escaped_ = c == '\\' && !escaped_;
      if (!ends) {
        std::size_t const most = at_ == At::key ? kMaxKey : kMaxModel;
        bool const is_kept = at_ == At::key || (at_ == At::text && wanted_ == Wanted::model);
        if (is_kept && word_.size() <= most) {
          word_ += c;
        }
        return at_;
      }
      if (at_ == At::inner_text) {
        return At::inner;
      }
      return at_ == At::key ? end_key() : end_text();
    }
    case At::colon:
      return c == ':' ? At::value : At::done;
    case At::value:
      return begin_value(c);
    case At::literal:
      return end_literal(c);
    case At::inner:
      return inner(c);
    case At::after_value:
      return after_value(c);
    case At::done:
      return At::done;
  }
  return At::done;
}

BodyLook::At BodyLook::end_key() {
  wanted_ = Wanted::nothing;
  if (word_ == "model" && !model_seen_) {
    wanted_ = Wanted::model;
  } else if (word_ == "stream" && !stream_) {
    wanted_ = Wanted::stream;
  }
  return At::colon;
}

BodyLook::At BodyLook::begin_value(char c) {
  word_.clear();
  if (wanted_ == Wanted::model) {
    model_seen_ = true;
  }
  if (c == '"') {
    return At::text;
  }
  if (c == '{' || c == '[') {
    depth_ = 1;
    return At::inner;
  }
  word_ += c;
  return At::literal;
}

BodyLook::At BodyLook::end_text() {
  if (wanted_ == Wanted::model && word_.size() <= kMaxModel) {
    model_ = unescaped(word_);
  }
  return model_seen_ && stream_ ? At::done : At::after_value;
}

BodyLook::At BodyLook::end_literal(char c) {
  if (c != ',' && c != '}' && c != ' ') {
    if (word_.size() < kMaxKey) {
      word_ += c;
    }
    return At::literal;
  }
  if (wanted_ == Wanted::stream && (word_ == "true" || word_ == "false")) {
    stream_ = word_ == "true";
  }
  if (model_seen_ && stream_) {
    return At::done;
  }
  return c == ' ' ? At::after_value : after_value(c);
}

BodyLook::At BodyLook::after_value(char c) {
  return c == ',' ? At::key_or_end : At::done;
}

BodyLook::At BodyLook::inner(char c) {
  if (c == '"') {
    return At::inner_text;
  }
  if (c == '{' || c == '[') {
    ++depth_;
  } else if ((c == '}' || c == ']') && --depth_ == 0) {
    return At::after_value;
  }
  return At::inner;
}

}  // namespace lastcall::relay
