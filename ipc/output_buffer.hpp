// The bytes that wait for one peer: those that are being written, and the lines that follow.
//
// Rules:
//  1. Lines are appended to waiting(), which becomes what is written once everything before it was
//     written; no byte is copied for that.
//  2. Cancels are not made until the bytes before them were written, and are then written with the
//     lines that wait; only other lines count against a limit.
//
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace lastcall::ipc {

class OutputBuffer {
 public:
  std::string& waiting() { return waiting_; }
  void drop_waiting() { waiting_.clear(); }
  bool is_empty() const { return writing_.empty() && waiting_.empty() && !has_cancels_; }
  /// How many bytes wait that are not cancels.
  std::size_t other_waiting() const {
    return waiting_.size() + (others_end_ > written_ ? others_end_ - written_ : 0);
  }

  void cancels_ready() { has_cancels_ = true; }
  void drop_cancels() { has_cancels_ = false; }

  /// Cancels are made while fewer bytes than this wait to be written.
  static constexpr std::size_t kCancelRoom = 64 * 1024;
  /// Returns what is to be written next. If all was, the waiting lines follow, and as many cancels
  /// as there is room for: `make_cancels(room, out)` appends them, and returns false when none is
  /// left.
  template <typename MakeCancels>
  std::string_view next(MakeCancels&& make_cancels) {
    if (written_ == writing_.size()) {
      writing_.clear();
      written_ = 0;
      std::swap(writing_, waiting_);
      others_end_ = writing_.size();
      if (has_cancels_ && writing_.size() < kCancelRoom) {
        has_cancels_ = make_cancels(kCancelRoom - writing_.size(), writing_);
      }
    }
    return std::string_view(writing_).substr(written_);
  }
  void wrote(std::size_t size) { written_ += size; }
  /// Forgets what was written or cannot be written any more; the waiting lines stay.
  void forget_written();
  /// Nothing of it will be written.
  void clear();

 private:
  std::string writing_;       // the bytes that are being written
  std::size_t written_{};     // how many of them were written
  std::size_t others_end_{};  // where the lines in it end that are not cancels
  std::string waiting_;       // the lines that follow
  bool has_cancels_{};
};

}  // namespace lastcall::ipc
