#include "core/cleanup_sequence.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lastcall::lifecycle {
namespace {

constexpr std::array<CleanupItem, 2> kFirstGroup{CleanupItem::sdk, CleanupItem::hooks};
constexpr std::array<CleanupItem, 4> kRest{CleanupItem::events, CleanupItem::registries,
                                           CleanupItem::engine, CleanupItem::paths};
constexpr std::uint32_t kEngineStep = 3;
constexpr std::uint32_t kSteps = 5;

std::span<CleanupItem const> group(std::uint32_t step) {
  return step == 0 ? std::span<CleanupItem const>(kFirstGroup)
                   : std::span<CleanupItem const>(kRest).subspan(step - 1, 1);
}

std::size_t index(CleanupItem item) {
  return static_cast<std::size_t>(item);
}

}  // namespace

void CleanupSequence::begin(Instant now, std::array<bool, kCleanupItems> applies,
                            std::uint32_t first_step) {
  *this = CleanupSequence{};
  active_ = true;
  for (std::size_t i = 0; i < kCleanupItems; ++i) {
    items_[i].applies = applies[i];
  }
  step_ = std::min(first_step, kEngineStep);
  start_group(now);
}

void CleanupSequence::start_group(Instant now) {
  group_began_ = now;
  for (CleanupItem const item : group(step_)) {
    if (items_[index(item)].applies) {
      items_[index(item)].record.outcome = ItemOutcome::pending;
    }
  }
}

void CleanupSequence::settle(Instant now, CleanupItem item, ItemOutcome outcome,
                             std::string detail) {
  CleanupRecord& record = items_[index(item)].record;
  if (!active_ || record.outcome != ItemOutcome::pending) {
    bool const names_what_overran = active_ && record.outcome == ItemOutcome::timed_out &&
                                    outcome != ItemOutcome::completed && record.detail.empty();
    if (names_what_overran) {
      record.detail = std::move(detail);
    }
    return;  // the result is late: the record already shows that its time was over
  }
  record = {outcome, now - group_began_, std::move(detail)};
}

void CleanupSequence::apply_late(CleanupItem item) {
  if (!active_ || step_ >= kSteps) {
    return;  // the list is done, so no group is left
  }
  ItemOutcome& outcome = items_[index(item)].record.outcome;
  auto const now_due = group(step_);
  if (outcome == ItemOutcome::skipped &&
      std::find(now_due.begin(), now_due.end(), item) != now_due.end()) {
    outcome = ItemOutcome::pending;
  }
}

void CleanupSequence::engine_gone(Instant now, Instant rest_gone_at) {
  rest_gone_at_ = rest_gone_at;
  items_[index(CleanupItem::engine)].applies = false;
  settle(now, CleanupItem::engine, ItemOutcome::completed, {});
}

bool CleanupSequence::is_done() const {
  return active_ && step_ >= kSteps;
}

void CleanupSequence::skip_to_engine(Instant now) {
  while (active_ && step_ < kEngineStep) {
    for (CleanupItem const item : group(step_)) {
      if (!items_[index(item)].started && items_[index(item)].is_pending()) {
        items_[index(item)].record.outcome = ItemOutcome::skipped;
      }
    }
    expire_group(now);
    ++step_;
    start_group(now);
  }
}

void CleanupSequence::engine_back(Instant now) {
  Item& engine = items_[index(CleanupItem::engine)];
  if (!active_ || engine.applies) {
    return;
  }
  engine.applies = true;
  if (step_ >= kEngineStep) {
    step_ = kEngineStep;
    start_group(now);
  }
}

CleanupSequence::Next CleanupSequence::next(Instant now, Instant deadline, Budgets const& budgets) {
  while (active_ && step_ < kSteps) {
    if (now >= deadline) {
      if (step_ == kEngineStep && !group_is_settled() && !kill_sent()) {
        signalled_ = Signalled::kill;
        return {Order::kill_engine, CleanupItem::engine, deadline};
      }
      expire_group(now);
    } else if (!group_is_settled()) {
      if (auto const item = take_unstarted(now)) {
        return {Order::start, *item, group_deadline(deadline, budgets)};
      }
      if (step_ == kEngineStep) {
        return next_for_engine(now, deadline, budgets);
      }
      if (now < group_deadline(deadline, budgets)) {
        return {};
      }
      expire_group(now);
    }
    if (++step_ < kSteps) {
      start_group(now);
    }
  }
  return {active_ ? Order::done : Order::none, CleanupItem::paths, deadline};
}

CleanupSequence::Next CleanupSequence::next_for_engine(Instant now, Instant deadline,
                                                       Budgets const& budgets) {
  if (!term_sent()) {
    signalled_ = Signalled::term;
    return {Order::signal_engine, CleanupItem::engine, deadline};
  }
  if (!kill_sent() && now >= budgets.engine_kill_at(deadline)) {
    signalled_ = Signalled::kill;
    return {Order::kill_engine, CleanupItem::engine, deadline};
  }
  return {};
}

std::optional<Instant> CleanupSequence::next_deadline(Instant deadline,
                                                      Budgets const& budgets) const {
  if (!active_ || step_ >= kSteps) {
    return std::nullopt;
  }
  if (step_ == kEngineStep && !kill_sent()) {
    return std::min(budgets.engine_kill_at(deadline), deadline);
  }
  Instant const limit = std::min(group_deadline(deadline, budgets), deadline);
  return std::min(limit, paths_from().value_or(limit));
}

std::optional<Instant> CleanupSequence::paths_from() const {
  Item const& paths = items_[index(CleanupItem::paths)];
  bool const waits = !paths.started && paths.is_pending();
  return waits ? std::optional(rest_gone_at_) : std::nullopt;
}

bool CleanupSequence::group_is_settled() const {
  return std::none_of(group(step_).begin(), group(step_).end(),
                      [this](CleanupItem item) { return items_[index(item)].is_pending(); });
}

std::optional<CleanupItem> CleanupSequence::take_unstarted(Instant now) {
  for (CleanupItem const item : group(step_)) {
    bool const is_early = item == CleanupItem::paths && now < rest_gone_at_;
    if (item != CleanupItem::engine && !is_early && !items_[index(item)].started &&
        items_[index(item)].is_pending()) {
      items_[index(item)].started = true;
      return item;
    }
  }
  return std::nullopt;
}

void CleanupSequence::expire_group(Instant now) {
  for (CleanupItem const item : group(step_)) {
    if (items_[index(item)].is_pending()) {
      items_[index(item)].record.outcome = ItemOutcome::timed_out;
      items_[index(item)].record.elapsed = now - group_began_;
    }
  }
}

Instant CleanupSequence::group_deadline(Instant deadline, Budgets const& budgets) const {
  Instant const term_at = budgets.engine_term_at(deadline);
  Duration const left = std::max(term_at - group_began_, Duration{0});
  switch (step_) {
    case 0:  // however small the pod's grace is, the disconnects that there are
             // keep their share
      return std::min(group_began_ + kAcksAndHooksCap,
                      term_at - std::min(budgets.disconnects, left / 2));
    case 1:
      return group_began_ + std::min(kDisconnectCap, left / 2);
    case 2:
      return group_began_ + std::min(kDisconnectCap, left);
    default:
      return deadline;
  }
}

void CleanupSequence::fingerprint(Mixer& m) const {
  if (!active_) {
    return;
  }
  m.all(step_, signalled_);
  m.put(std::max(paths_from().value_or(m.now), m.now));
  m.put(group_began_ + kAcksAndHooksCap);  // no group before the engine takes longer
  for (Item const& item : items_) {
    m.all(item.is_pending(), item.started);
  }
}

}  // namespace lastcall::lifecycle
