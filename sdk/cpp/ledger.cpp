#include "sdk/cpp/ledger.hpp"

#include <stdexcept>
#include <utility>

#include "sdk/cpp/cancel_lines.hpp"

namespace lastcall::sdk {
// --- what the program does

void Ledger::begin(Entry entry, Decided&& decided, Later& later) {
  auto const [place, is_new] = entries_.try_emplace(entry.context->id());
  if (!is_new) {
    throw std::invalid_argument("cannot begin request '" + entry.context->id() +
                                "': the id is live already");
  }
  Entry& made = place->second = std::move(entry);
  auto const unadmitted = absence_.unadmitted_at();
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
  CancelLines cancels;
  for (ContextPtr const& context : contexts) {
    Entry* const entry = find(*context);
    if (entry == nullptr) {
      continue;
    }
    if (!notified.contains(context->id())) {
      cancels.add(*context);
    }
    if (entry->waiting) {
      --waiting_;
      entry->settle({}, later);
      later.push_back([context] { context->end(std::nullopt); });
    }
  }
  std::move(cancels).send(outbox_);
}

void Ledger::ended(ContextState const& context, Outcome outcome, Later& later) {
  Entry* const entry = find(context);
  if (entry == nullptr) {
    return;
  }
  bool const was_waiting = static_cast<bool>(entry->waiting);
  waiting_ -= was_waiting ? 1 : 0;
  entry->settle({}, later);
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
  ends_.add(begin_line(over, true), outcome, is_sent);
}

void Ledger::confirmed(ContextState const& context) {
  if (find(context) != nullptr) {
    outbox_.send(ipc::CancelDone{context.id()});
  }
}

void Ledger::progress(ContextState& context) {
  Entry const* const entry = find(context);
  if (entry != nullptr) {
    progress_.add(entry->context);
  }
}

// --- the connection comes and goes, and time passes

void Ledger::lost(Clock::time_point now, Later& later) {
  ends_.lost();
  progress_.lost(later);
  questions_.clear();
  absence_.lost(now);
}

void Ledger::admitted(std::string_view id, Later& later) {
  Entry* const entry = find(id);
  if (entry != nullptr && entry->waiting) {
    --waiting_;
    entry->settle({.may_run = true}, later);
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
  entry->settle({.may_run = false,
                 .refusal = static_cast<Refusal>(message.reason),
                 .retry_after = message.retry_after},
                later);
  ContextPtr const context = entry->context;
  entries_.erase(context->id());
  later.push_back([context] { context->end(Outcome::rejected); });
}

void Ledger::answered(std::uint64_t seq, bool is_error, Later& later) {
  auto const question = questions_.extract(seq);
  if (question.empty()) {
    return;
  }
  absence_.answered();
  if (is_error) {
    admitted(question.mapped().id, later);
  }
}

std::optional<Clock::time_point> Ledger::tick(Clock::time_point now, Later& later) {
  ends_.forget_written();
  auto const due = waiting_ > 0 ? tick_admission(now, later) : std::nullopt;
  auto const next = progress_.tick(
      now, [this](ContextState const& context) { return find(context) != nullptr; }, later);
  return due && (!next || *due < *next) ? due : next;
}

std::optional<Clock::time_point> Ledger::tick_admission(Clock::time_point now, Later& later) {
  auto const oldest = questions_.begin();
  auto const again = absence_.listen(
      oldest == questions_.end() ? std::nullopt : std::optional(oldest->second.asked_at), now);
  auto const unadmitted = absence_.unadmitted_at();
  if (!unadmitted || now < *unadmitted) {
    return unadmitted ? unadmitted : again;
  }
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      entry.settle({.may_run = true}, later);
    }
  }
  waiting_ = 0;
  return std::nullopt;
}

void Ledger::clear(Later& later) {
  for (auto& [id, entry] : entries_) {
    if (entry.waiting) {
      entry.settle({.may_run = true}, later);
    }
    later.push_back([kept = entry.context] {});  // its destruction may run the program's code
  }
  entries_.clear();
  progress_.clear(later);
  waiting_ = 0;
  is_closed_ = true;
}

}  // namespace lastcall::sdk
