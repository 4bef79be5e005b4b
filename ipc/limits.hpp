// The limits of the protocol, and the two answers that exist in both directions.
//
// Pure values, no thread rule. Source: docs/ipc.md, 'Limits'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "ipc/words.hpp"

namespace lastcall::ipc {

inline constexpr std::uint64_t kProtocolVersion = 1;
/// The length of a line without its newline.
inline constexpr std::size_t kMaxLine = 64 * 1024;
/// Request ids, roots, parents, and names (peer, endpoint, model, sdk, boot).
inline constexpr std::size_t kMaxId = 256;
inline constexpr std::size_t kMaxBlob = 1024;
inline constexpr std::size_t kMaxReport = 4000;
inline constexpr std::size_t kMaxWillReport = 1536;  // keeps a whole will below 2 KiB
inline constexpr std::size_t kMaxSignalName = 16;
/// The length of `next` in a page of requests, and of `after` in the query for the following page.
inline constexpr std::size_t kMaxCursor = 2 * kMaxId + 1;
/// The `limit` of a `requests` query: the default and the maximum.
inline constexpr std::uint64_t kDefaultPage = 100;
inline constexpr std::uint64_t kMaxPage = 1000;
/// The smallest `interval_ms` of a `watch`, because each line is a whole status.
inline constexpr std::uint64_t kLeastWatchMs = 50;

/// Inclusive bounds of a number on the wire. A sum of a few durations of the largest number of
/// milliseconds still fits into 64 bits, and a double holds it exactly.
struct Bounds {
  std::uint64_t min = 0;
  std::uint64_t max = 1'000'000'000'000'000;
};

struct Ack {
  std::uint64_t seq{};
  std::string result;  // a JSON value as text; empty: none
  friend bool operator==(Ack const&, Ack const&) = default;
};

struct Error {
  std::optional<std::uint64_t> seq;  // absent: the line that it answers had none
  ErrorCode code{};
  std::string message;
  friend bool operator==(Error const&, Error const&) = default;
};

}  // namespace lastcall::ipc
