// The cancels of one peer that were taken from the ledger and are not yet written.
//
// Rule: a batch is taken only when there is room for its lines, and is written whole before the
// next one is taken; a line holds as many ids as fit.
//
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <string>

#include "ipc/codec.hpp"

namespace lastcall::ipc {

class CancelLines {
 public:
  /// Appends lines of about `room` bytes in all to `out`; false when none is left.
  /// `next_batch(batch)` fills the empty batch, and returns 0 if there is nothing to fill it with.
  template <typename NextBatch>
  bool write(std::size_t room, std::string& out, NextBatch&& next_batch) {
    std::size_t const start = out.size();
    while (out.size() - start < room) {
      if (next_ == batch_.ids.size()) {
        batch_.ids.clear();
        next_ = 0;
        if (next_batch(batch_) == 0) {
          return false;
        }
      }
      next_ = encode_cancels(batch_, next_, out);
    }
    return true;
  }

 private:
  CancelBatch batch_;
  std::size_t next_{};  // the first id of it that was not written
};

}  // namespace lastcall::ipc
