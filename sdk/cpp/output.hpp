// The bytes that wait to be written to a connection.
//
// Rules:
//  1. The greeting, which is everything up to end_greeting(), may have any length; at most
//     kMaxPending bytes may wait beyond it. If there are more, is_overflowing() returns true until
//     reset(), even if bytes were written since, because lines are missing.
//  2. Positions count the bytes that were queued since the connection began, so that the owner
//     knows which of its lines were written completely.
//
// Thread rule: under the owner's mutex. Source: Client, rule 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::sdk {

inline constexpr std::size_t kMaxPending = 1024 * 1024;

class Output {
 public:
  /// Lines are appended here; afterwards queued() is the position of their end.
  std::string& lines() { return out_; }
  void end_greeting() { greeting_end_ = queued(); }
  std::uint64_t queued() const { return flushed_ + size(); }
  std::uint64_t flushed() const { return flushed_; }
  bool is_empty() const { return size() == 0; }
  bool is_overflowing();

  std::string_view pending() const { return std::string_view(out_).substr(written_); }
  /// The first bytes of pending() were written.
  void written(std::size_t size);
  /// Releases memory after a series of writes.
  void trim();
  /// A new connection begins; what was queued is lost.
  void reset();

 private:
  std::size_t size() const { return out_.size() - written_; }

  std::string out_;
  std::size_t written_{};  // bytes of out_ that were written
  std::uint64_t flushed_{};
  std::optional<std::uint64_t> greeting_end_;  // a position
  bool has_overflown_{};
};

}  // namespace lastcall::sdk
