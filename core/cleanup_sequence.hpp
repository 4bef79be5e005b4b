// Phase 3 as a list: the order of its items, how long each may take, and how each ended.
//
//   sdk + hooks (2 s together) -> events (0.5 s) -> registries (0.5 s) -> engine -> paths
//
// Invariants:
//  1. Items start in this order; an item that does not apply is skipped and takes no time.
//  2. Whatever the earlier ones do, the engine's stop signal is out by engine_term_at(D), its KILL
//     by engine_kill_at(D), and the list is done at D.
//  3. Discovery is gone before the engine is: the engine comes after every disconnect.
//
// Owned by the core's thread. Source: specification, 'Phase 3'.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/budgets.hpp"
#include "core/event.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

inline constexpr std::size_t kCleanupItems = 6;

struct CleanupRecord {
  ItemOutcome outcome = ItemOutcome::skipped;
  Duration elapsed{};
  std::string detail;
};

class CleanupSequence {
 public:
  enum class Order : std::uint8_t { none, start, signal_engine, kill_engine, done };
  struct Next {
    Order order = Order::none;
    CleanupItem item = CleanupItem::sdk;
    Instant deadline;
  };

  /// `applies[item]`: whether the item has anything to do. `first_step` > 0 resumes an earlier
  /// life's list.
  void begin(Instant now, std::array<bool, kCleanupItems> applies, std::uint32_t first_step);
  bool is_active() const { return active_; }
  /// A late result changes neither outcome nor time. Only the detail of an item that overran is
  /// kept, because nothing else names the reason.
  void settle(Instant now, CleanupItem item, ItemOutcome outcome, std::string detail);
  /// An item that had nothing to do now has something, because a peer came late. It is ignored
  /// unless it is the item's turn.
  void apply_late(CleanupItem item);
  /// The engine's main process has ended; the rest of the engine is gone at `rest_gone_at`.
  void engine_gone(Instant now, Instant rest_gone_at);
  /// A shim that counted as lost is back with a running engine, which gets its stop signal.
  void engine_back(Instant now);
  /// An earlier life sent the stop signal: a second one would abort the engine's own cleanup.
  void assume_term_sent() { signalled_ = std::max(signalled_, Signalled::term); }

  /// Returns one order at a time, until `none` or `done`. The deadline may have moved closer.
  Next next(Instant now, Instant deadline, Budgets const& budgets);
  std::optional<Instant> next_deadline(Instant deadline, Budgets const& budgets) const;

  CleanupRecord const& record(CleanupItem item) const {
    return items_[static_cast<std::size_t>(item)].record;
  }
  /// The list is complete; the owner decides when that ends the phase.
  bool is_done() const;
  /// In a forced stop, no other item precedes the engine any more.
  void skip_to_engine(Instant now);
  /// The number of finished groups, which a restarted supervisor need not repeat.
  std::uint32_t step() const { return step_; }
  bool started(CleanupItem item) const { return items_[static_cast<std::size_t>(item)].started; }
  bool term_sent() const { return signalled_ >= Signalled::term; }
  bool kill_sent() const { return signalled_ == Signalled::kill; }
  /// From this time on no process can write new files of workers, so they can be removed; absent if
  /// it makes no difference.
  std::optional<Instant> paths_from() const;
  void fingerprint(Mixer& m) const;

 private:
  /// The last signal that was sent to the engine.
  enum class Signalled : std::uint8_t { none, term, kill };
  struct Item {
    bool applies = false;
    bool started = false;
    CleanupRecord record;
    bool is_pending() const { return record.outcome == ItemOutcome::pending; }
  };

  bool group_is_settled() const;
  void start_group(Instant now);
  std::optional<CleanupItem> take_unstarted(Instant now);
  void expire_group(Instant now);
  Next next_for_engine(Instant now, Instant deadline, Budgets const& budgets);
  Instant group_deadline(Instant deadline, Budgets const& budgets) const;

  bool active_ = false;
  Signalled signalled_ = Signalled::none;
  std::uint32_t step_ = 0;
  Instant group_began_{};
  Instant rest_gone_at_{};
  std::array<Item, kCleanupItems> items_{};
};

}  // namespace lastcall::lifecycle
