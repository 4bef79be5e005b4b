// Converts lines of the protocol to messages and back; works on bytes only, without a socket.
//
// Rules:
//  1. Unknown keys are ignored; if a key appears twice the last one counts; null is the same as an
//     absent key, except for a Change, which it clears.
//  2. A field that is missing, has another type or exceeds its limits is a `bad_field`; the message
//     names the field, what was expected and what was there.
//  3. A line that is not a JSON object in valid UTF-8, or is too long, closes the connection; so
//     does a `hello` of another version. Everything else leaves the peer connected.
//  4. decode(encode(m)) is m; encode() writes valid JSON on one line whatever the strings hold
//     (bytes that are not UTF-8 become U+FFFD).
//
// Pure, no thread rule. Source: docs/ipc.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ipc/message.hpp"

namespace lastcall::ipc {

template <typename Message>
struct Incoming {
  Message message;
  std::optional<std::uint64_t> seq;
};

struct DecodeError {
  ErrorCode code{};
  std::string message;
  bool close{};
  std::optional<std::uint64_t> seq;
  bool of_answer{};  // the line was an ack or error; those are never answered, not even bad ones
};

using ToSupervisorLine = std::variant<Incoming<ToSupervisor>, DecodeError>;
using FromSupervisorLine = std::variant<Incoming<FromSupervisor>, DecodeError>;

/// `line` comes without its newline.
ToSupervisorLine decode_to_supervisor(std::string_view line);
FromSupervisorLine decode_from_supervisor(std::string_view line);

/// Appends the line and its newline to `out`. Returns false and leaves `out` unchanged if a field
/// exceeds its limit, a raw value is not JSON, or the line would be longer than kMaxLine.
[[nodiscard]] bool encode(ToSupervisor const& message, std::optional<std::uint64_t> seq,
                          std::string& out);
[[nodiscard]] bool encode(FromSupervisor const& message, std::optional<std::uint64_t> seq,
                          std::string& out);

/// Appends one line with as many ids as it holds, beginning at `first`. Returns the index of the
/// first id that is left, or batch.ids.size() if there is none.
std::size_t encode_cancels(CancelBatch const& batch, std::size_t first, std::string& out);

}  // namespace lastcall::ipc
