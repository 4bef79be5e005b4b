// Cuts names and details to what the supervisor takes.
//
// Pure functions, no thread rule. Source: docs/ipc.md, 'Limits'.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "ipc/codec.hpp"
#include "ipc/limits.hpp"

namespace lastcall::sdk {

/// A name is for people and labels; if it is too long (a model's path), its start is cut off. It
/// may come from the body of a request: a byte that is not UTF-8 becomes one of ASCII, because the
/// longer replacement of the encoder would exceed what the supervisor takes.
std::string clipped(std::string name);

/// Cuts off the start of the detail until the line fits, because the end of a traceback is its
/// important part.
template <typename Message>
Message clipped_to_line(Message message) {
  std::string const whole = std::move(message.detail);
  message.detail = whole;
  std::string scratch;
  for (std::size_t keep = ipc::kMaxLine / 2; !ipc::encode(message, 0, scratch); keep /= 2) {
    message.detail = "[...] " + whole.substr(whole.size() - std::min(whole.size(), keep));
  }
  return message;
}

}  // namespace lastcall::sdk
