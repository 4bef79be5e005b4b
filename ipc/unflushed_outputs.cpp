#include "ipc/unflushed_outputs.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ipc/session_output.hpp"

namespace lastcall::ipc {

UnflushedOutputs::Turn::~Turn() {
  if (--outputs_.turns_ == 0) {
    outputs_.flush();
  }
}

void UnflushedOutputs::add(std::shared_ptr<SessionOutput> output) {
  due_.push_back(std::move(output));
  if (turns_ == 0) {
    post();
  }
}

void UnflushedOutputs::post() {
  if (!std::exchange(is_posted_, true)) {
    boost::asio::post(io_, [self = shared_from_this()] {
      self->is_posted_ = false;
      self->flush();
    });
  }
}

void UnflushedOutputs::flush() {
  if (!flushing_.empty()) {
    return;  // called from within a flush, which handles it
  }
  std::swap(flushing_, due_);
  for (auto const& output : flushing_) {
    output->flush_now();
  }
  flushing_.clear();
  if (!due_.empty()) {
    post();
  }
}

}  // namespace lastcall::ipc
