#include "sdk/cpp/fatal_report.hpp"

#include <utility>

#include "sdk/cpp/clipped.hpp"

namespace lastcall::sdk {

std::shared_future<bool> FatalReport::report(std::string reason, std::string detail) {
  std::shared_future<bool> future;
  lock_.locked([&](Later&) {
    if (!message_) {
      message_ = clipped_to_line(ipc::Fatal{clipped(std::move(reason)), std::move(detail)});
      if (nobody_listens_) {
        answer(false);
      } else {
        send();
      }
    }
    future = future_;
  });
  if (!future.valid()) {
    std::promise<bool> nobody;
    nobody.set_value(false);
    future = nobody.get_future().share();
  }
  return future;
}

void FatalReport::announce() {
  if (message_ && !is_answered_) {
    send();
  }
}

void FatalReport::answered(std::uint64_t seq, bool is_error) {
  if (seq_ == seq) {
    answer(!is_error);
  }
}

void FatalReport::give_up() {
  nobody_listens_ = true;
  if (message_) {
    answer(false);
  }
}

void FatalReport::send() {
  if (outbox_.is_open()) {
    seq_ = outbox_.next_seq();
    outbox_.send(*message_, seq_);
  }
}

void FatalReport::answer(bool is_received) {
  if (!std::exchange(is_answered_, true)) {
    promise_.set_value(is_received);
  }
}

}  // namespace lastcall::sdk
