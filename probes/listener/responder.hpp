// How an answer gets from any thread to the listener's thread.
//
// Invariants:
//  1. A ticket is answered at most once; a ticket that is dropped unanswered answers with a 500.
//  2. The mailbox lives as long as any ticket, even after the listener is gone, so a late answer is
//     harmless.
//
// Thread rule: any thread. Source: eventfd(2).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "probes/listener/listener.hpp"

namespace lastcall::probes {

/// Answers on their way to the listener's thread; its descriptor is readable while there are any.
class Mailbox {
 public:
  struct Letter {
    std::uint64_t connection;
    Reply reply;
  };

  Mailbox();
  void post(std::uint64_t connection, Reply reply);
  /// Wakes the listener's thread without a letter.
  void wake() const;
  std::vector<Letter> take();
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
};

struct Responder::Ticket {
 public:
  Ticket(std::shared_ptr<Mailbox> mailbox, std::uint64_t connection)
      : mailbox_(std::move(mailbox)), connection_(connection) {}
  ~Ticket() { answer(Reply{.status = 500, .body = "no answer was given\n"}); }

  void answer(Reply reply);
  /// Called after the handler has returned: takes its answer, or nothing; in that case a later
  /// answer goes through the mailbox.
  std::optional<Reply> take_immediate();

 private:
  std::shared_ptr<Mailbox> const mailbox_;
  std::uint64_t const connection_;
  std::mutex mutex_;
  bool in_handler_ = true;
  bool answered_ = false;
  std::optional<Reply> immediate_;
};

}  // namespace lastcall::probes
