// The lines of the ledger: the announcement of everything, and how each line is made.
#include <utility>

#include "sdk/cpp/cancel_lines.hpp"
#include "sdk/cpp/ledger.hpp"

namespace lastcall::sdk {

std::size_t Ledger::announced_size() const {
  return entries_.size() - waiting_ + ends_.size();
}

void Ledger::announce() {
  ends_.announce();
  CancelLines cancels;
  std::vector<std::string> confirmed;
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      continue;
    }
    entry.was_announced = true;
    outbox_.send(begin_line(entry, true));
    cancels.add(*entry.context);
    if (entry.context->is_confirmed()) {
      confirmed.emplace_back(id);
    }
  }
  std::move(cancels).send(outbox_);
  for (std::string& id : confirmed) {
    outbox_.send(ipc::CancelDone{std::move(id)});
  }
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      ask(entry);
    }
  }
}

ipc::RequestBegin Ledger::begin_line(Entry const& entry, bool resumed) const {
  std::string const& root = entry.context->root();
  std::optional<lifecycle::Instant> began_at;
  if (resumed) {
    began_at = lifecycle::Instant(
        std::chrono::duration_cast<lifecycle::Duration>(entry.began_at.time_since_epoch()));
  }
  return {.id = entry.context->id(),
          .root = root == entry.context->id() ? std::string() : root,
          .parent = entry.parent,
          .endpoint = entry.endpoint,
          .model = entry.model,
          .stream = entry.stream,
          .resumed = resumed,
          .priority = entry.priority,
          .way = entry.way,
          .began_at = began_at};
}

void Ledger::ask(Entry& entry) {
  if (!outbox_.is_open()) {
    outbox_.wake();  // its timer does not cover this request yet
    return;
  }
  entry.was_announced = true;
  ipc::RequestBegin line = begin_line(entry);
  line.admit = true;
  std::uint64_t const seq = outbox_.next_seq();
  if (outbox_.send(line, seq)) {
    questions_.emplace(seq, Question{entry.context->id(), Clock::now()});
  }  // otherwise the next connection is asked, soon
}

void Entry::settle(Admission const& admission, Later& later) {
  if (Decided decided = std::exchange(waiting, nullptr)) {
    later.push_back([decided = std::move(decided), context = context, admission] {
      decided(Handles::of(context), admission);
    });
  }
}

}  // namespace lastcall::sdk
