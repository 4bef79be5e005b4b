#include "ipc/line_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace lastcall::ipc {
namespace {

constexpr std::size_t kFirst = 4 * 1024;
constexpr std::size_t kMost = kMaxLine + 1;

}  // namespace

std::span<char> LineBuffer::prepare() {
  bool const was_filled = end_ == bytes_.size();
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (was_filled && bytes_.size() < kMost) {
    bytes_.resize(bytes_.empty() ? kFirst : std::min(bytes_.size() * 2, kMost));
  }
  return std::span(bytes_).subspan(end_);
}

std::optional<std::string_view> LineBuffer::next_line() {
  if (scanned_ == end_) {
    return std::nullopt;
  }
  char const* const from = bytes_.data() + scanned_;
  void const* const newline = std::memchr(from, '\n', end_ - scanned_);
  if (newline == nullptr) {
    scanned_ = end_;
    return std::nullopt;
  }
  auto const at = static_cast<std::size_t>(static_cast<char const*>(newline) - bytes_.data());
  std::string_view const line(bytes_.data() + begin_, at - begin_);
  begin_ = at + 1;
  scanned_ = begin_;
  return line;
}

}  // namespace lastcall::ipc
