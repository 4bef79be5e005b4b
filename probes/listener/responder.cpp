#include "probes/listener/responder.hpp"

#include <sys/eventfd.h>

namespace lastcall::probes {

Mailbox::Mailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Mailbox::post(std::uint64_t connection, Reply reply) {
  {
    std::lock_guard const lock(mutex_);
    letters_.push_back({connection, std::move(reply)});
  }
  wake();
}

void Mailbox::wake() const {
  eventfd_write(event_.get(), 1);
}

std::vector<Mailbox::Letter> Mailbox::take() {
  eventfd_t ignored = 0;
  eventfd_read(event_.get(), &ignored);
  std::lock_guard const lock(mutex_);
  return std::exchange(letters_, {});
}

void Responder::Ticket::answer(Reply reply) {
  std::lock_guard const lock(mutex_);
  if (std::exchange(answered_, true)) {
    return;
  }
  if (in_handler_) {
    immediate_ = std::move(reply);
  } else {
    mailbox_->post(connection_, std::move(reply));
  }
}

std::optional<Reply> Responder::Ticket::take_immediate() {
  std::lock_guard const lock(mutex_);
  in_handler_ = false;
  return std::exchange(immediate_, std::nullopt);
}

void Responder::send(Reply reply) const {
  ticket_->answer(std::move(reply));
}

}  // namespace lastcall::probes
