#include "ipc/output_buffer.hpp"

namespace lastcall::ipc {

void OutputBuffer::forget_written() {
  writing_.clear();
  written_ = 0;
  others_end_ = 0;
}

void OutputBuffer::clear() {
  forget_written();
  drop_waiting();
  drop_cancels();
}

}  // namespace lastcall::ipc
