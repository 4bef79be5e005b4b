#include "sdk/cpp/ledger.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lastcall::sdk {
// --- what the program does

void Ledger::begin(Entry entry, Decided decided, Later& later) {
  auto const [place, is_new] = entries_.try_emplace(entry.context->id());
  if (!is_new) {
    throw std::invalid_argument("cannot begin request '" + entry.context->id() +
                                "': the id is live already");
  }
  Entry& made = place->second = std::move(entry);
  auto const unadmitted = unadmitted_at();
  bool const starts_now = !decided || !outbox_.has_socket() || is_closed_ ||
                          (unadmitted && *unadmitted <= Clock::now());
  if (!starts_now) {
    made.waiting = std::move(decided);
    ++waiting_;
    ask(made);
    return;
  }
  if (outbox_.is_open()) {
    made.was_announced = true;
    outbox_.send(begin_line(made, decided != nullptr));  // it counts, whatever the limits
  }
  if (decided) {
    later.push_back([decided = std::move(decided), context = made.context] {
      decided(Handles::of(context), {.may_run = true});
    });
  }
}

Entry* Ledger::find(std::string_view id) {
  auto const found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

Entry* Ledger::find(ContextState const& context) {
  Entry* const entry = find(context.id());
  return entry != nullptr && entry->context.get() == &context ? entry : nullptr;
}

std::vector<ContextPtr> Ledger::live() const {
  std::vector<ContextPtr> all;
  all.reserve(entries_.size());
  for (auto const& [id, entry] : entries_) {
    all.push_back(entry.context);
  }
  return all;
}

void Ledger::raised(std::span<ContextPtr const> contexts, Notified const& notified, Later& later) {
  Groups groups;
  for (ContextPtr const& context : contexts) {
    Entry* const entry = find(*context);
    if (entry == nullptr) {
      continue;
    }
    if (!notified.contains(context->id())) {
      add_cancel(groups, *context);
    }
    if (entry->waiting) {
      --waiting_;
      settle(*entry, {}, later);
      later.push_back([context] { context->end(std::nullopt); });
    }
  }
  send_cancels(std::move(groups));
}

void Ledger::ended(ContextState const& context, Outcome outcome, Later& later) {
  Entry* const entry = find(context);
  if (entry == nullptr) {
    return;
  }
  bool const was_waiting = static_cast<bool>(entry->waiting);
  waiting_ -= was_waiting ? 1 : 0;
  settle(*entry, {}, later);
  Entry const over = std::move(*entry);
  entries_.erase(context.id());
  if (!over.was_announced) {
    return;
  }
  if (context.level() > Level::live && !context.is_confirmed()) {
    outbox_.send(ipc::CancelDone{context.id()});
  }
  bool const is_sent =
      outbox_.send(ipc::RequestEnd{context.id(), static_cast<ipc::Outcome>(outcome)});
  if (was_waiting) {
    return;  // a request that was never admitted ends with its connection and need not be reported
  }
  forget_written();
  unconfirmed_.push_back({is_sent ? outbox_.queued() : 0, begin_line(over, true), outcome});
  if (unconfirmed_.size() > kMaxUnconfirmed && unconfirmed_.front().until == 0) {
    unconfirmed_.pop_front();
  }
}

void Ledger::confirmed(ContextState const& context) {
  if (find(context) != nullptr) {
    outbox_.send(ipc::CancelDone{context.id()});
  }
}

void Ledger::progress(ContextState& context) {
  Entry const* const entry = find(context);
  if (entry == nullptr || !outbox_.is_open() || context.moved.exchange(true)) {
    return;
  }
  moved_.push_back(entry->context);
  if (moved_.size() == 1) {
    outbox_.wake();
  }
}

// --- the connection comes and goes, and time passes

void Ledger::lost(Clock::time_point now, Later& later) {
  forget_written();
  for (Ended& each : unconfirmed_) {
    each.until = 0;
  }
  while (unconfirmed_.size() > kMaxUnconfirmed) {
    unconfirmed_.pop_front();
  }
  for (ContextPtr const& context : moved_) {
    context->moved = false;
  }
  later.push_back([kept = std::move(moved_)] {});
  moved_.clear();
  questions_.clear();
  if (std::exchange(is_welcomed_, false)) {  // a supervisor without a welcome does not count
    lost_at_ = now;
  }
}

void Ledger::admitted(std::string_view id, Later& later) {
  Entry* const entry = find(id);
  if (entry != nullptr && entry->waiting) {
    --waiting_;
    settle(*entry, {.may_run = true}, later);
  }
}

void Ledger::rejected(ipc::Rejected const& message, Later& later) {
  Entry* const entry = find(message.id);
  if (entry == nullptr) {
    return;
  }
  if (!entry->waiting) {  // it started while the answer was on its way: it must count
    outbox_.send(begin_line(*entry, true));
    return;
  }
  --waiting_;
  settle(*entry,
         {.may_run = false,
          .refusal = static_cast<Refusal>(message.reason),
          .retry_after = message.retry_after},
         later);
  ContextPtr const context = entry->context;
  entries_.erase(context->id());
  later.push_back([context] { context->end(Outcome::rejected); });
}

void Ledger::answered(std::uint64_t seq, bool is_error, Later& later) {
  auto const question = questions_.extract(seq);
  if (is_error && !question.empty()) {
    admitted(question.mapped(), later);
  }
}

std::optional<Clock::time_point> Ledger::tick(Clock::time_point now, Later& later) {
  forget_written();
  std::optional<Clock::time_point> due;
  auto const unadmitted = unadmitted_at();
  if (waiting_ > 0 && unadmitted && now < *unadmitted) {
    due = unadmitted;
  } else if (waiting_ > 0 && unadmitted) {
    for (auto& [id, entry] : entries_) {
      if (entry.waiting) {
        settle(entry, {.may_run = true}, later);
      }
    }
    waiting_ = 0;
  }
  if (moved_.empty() || !outbox_.is_open()) {
    return due;
  }
  if (now < moved_at_ + kProgressEvery) {
    auto const next = moved_at_ + kProgressEvery;
    return due ? std::min(*due, next) : next;
  }
  std::vector<std::string> ids;
  for (ContextPtr const& context : moved_) {
    context->moved = false;
    if (find(*context) != nullptr) {
      ids.push_back(context->id());
    }
  }
  later.push_back([kept = std::move(moved_)] {});  // its destruction may run the program's code
  moved_.clear();
  moved_at_ = now;
  send_ids(std::move(ids), [](auto some) { return ipc::RequestProgress{std::move(some)}; });
  return due;
}

void Ledger::clear(Later& later) {
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      settle(entry, {.may_run = true}, later);
    }
    later.push_back([kept = entry.context] {});  // like above
  }
  entries_.clear();
  later.push_back([kept = std::move(moved_)] {});
  moved_.clear();
  waiting_ = 0;
  is_closed_ = true;
}

}  // namespace lastcall::sdk
