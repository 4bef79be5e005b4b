#include "sdk/cpp/output.hpp"

#include <algorithm>

namespace lastcall::sdk {
namespace {

constexpr std::size_t kKeptCapacity = 256 * 1024;

}  // namespace

bool Output::is_overflowing() {
  has_overflown_ = has_overflown_ ||
                   (greeting_end_ && queued() - std::max(flushed_, *greeting_end_) > kMaxPending);
  return has_overflown_;
}

void Output::written(std::size_t size) {
  written_ += size;
  flushed_ += size;
}

void Output::trim() {
  if (is_empty()) {
    out_.clear();
    written_ = 0;
    if (out_.capacity() > kKeptCapacity) {
      out_.shrink_to_fit();
    }
  } else if (written_ > kMaxPending) {
    out_.erase(0, written_);
    written_ = 0;
  }
}

void Output::reset() {
  out_.clear();
  out_.shrink_to_fit();
  written_ = 0;
  flushed_ = 0;
  greeting_end_.reset();
  has_overflown_ = false;
}

}  // namespace lastcall::sdk
