// The lines of the ledger: the announcement of everything, and how each line is made.
#include <utility>

#include "ipc/codec.hpp"
#include "sdk/cpp/ledger.hpp"

namespace lastcall::sdk {

std::size_t Ledger::announced_size() const {
  return entries_.size() - waiting_ + unconfirmed_.size();
}

void Ledger::announce() {
  for (Ended& each : unconfirmed_) {
    bool const is_sent =
        outbox_.send(each.begin) &&
        outbox_.send(ipc::RequestEnd{each.begin.id, static_cast<ipc::Outcome>(each.outcome)});
    each.until = is_sent ? outbox_.queued() : 0;
  }
  Groups groups;
  std::vector<std::string> confirmed;
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      continue;
    }
    entry.was_announced = true;
    outbox_.send(begin_line(entry, true));
    add_cancel(groups, *entry.context);
    if (entry.context->is_confirmed()) {
      confirmed.emplace_back(id);
    }
  }
  send_cancels(std::move(groups));
  for (std::string& id : confirmed) {
    outbox_.send(ipc::CancelDone{std::move(id)});
  }
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      ask(entry);
    }
  }
}

std::optional<Clock::time_point> Ledger::unadmitted_at() const {
  return is_welcomed_ ? std::nullopt : std::optional(lost_at_ + kUnadmittedAfter);
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
    questions_.emplace(seq, entry.context->id());
  }  // otherwise the next connection is asked, soon
}

void Ledger::settle(Entry& entry, Admission const& admission, Later& later) {
  if (Decided decided = std::exchange(entry.waiting, nullptr)) {
    later.push_back([decided = std::move(decided), context = entry.context, admission] {
      decided(Handles::of(context), admission);
    });
  }
}

/// Sends as many lines as the ids need.
void Ledger::send_ids(std::vector<std::string> ids,
                      std::function<ipc::ToSupervisor(std::vector<std::string>)> const& make) {
  constexpr std::size_t kRoom = ipc::kMaxLine - 256;
  constexpr std::size_t kLongestEscape = 6;  // \u00XX
  std::vector<std::string> batch;
  std::size_t size = 0;
  for (std::string& id : ids) {
    std::size_t const needs = kLongestEscape * id.size() + 3;
    if (size + needs > kRoom) {
      outbox_.send(make(std::exchange(batch, {})));
      size = 0;
    }
    size += needs;
    batch.push_back(std::move(id));
  }
  if (!batch.empty()) {
    outbox_.send(make(std::move(batch)));
  }
}

void Ledger::add_cancel(Groups& groups, ContextState const& context) {
  if (context.level() > Level::live) {
    auto const mode =
        context.level() == Level::killed ? ipc::CancelMode::kill : ipc::CancelMode::stop;
    Reason const reason = context.reason().value_or(Reason::control);
    groups[{mode, static_cast<ipc::CancelReason>(reason)}].push_back(context.id());
  }
}

/// Sends one line for all contexts that were cancelled in the same way.
void Ledger::send_cancels(Groups&& groups) {
  for (auto& [how, ids] : groups) {
    send_ids(std::move(ids), [&](auto some) {
      return ipc::Cancel{.ids = std::move(some), .mode = how.first, .reason = how.second};
    });
  }
}

/// The supervisor is responsible for ends that were written completely.
void Ledger::forget_written() {
  while (!unconfirmed_.empty() && unconfirmed_.front().until != 0 &&
         outbox_.is_written(unconfirmed_.front().until)) {
    unconfirmed_.pop_front();
  }
}

}  // namespace lastcall::sdk
