// The state of this instance in each registry.
//
// Rules:
//  1. All registries get their orders together; each confirms, or gives up, independently.
//  2. Deregistering is correct in any state: an earlier life may have registered without being able
//     to report it, and the order costs nothing.
//  3. A registry that has given up and confirms later has confirmed; its detail has the reason why
//     it was late.
//
// Owned by the core's thread. Source: specification, 'Phase 1'; specification, 'Discovery'.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/state_table.hpp"

namespace lastcall::lifecycle {

struct RegistryRecord {
  enum class State : std::uint8_t { absent, registered, deregistering, confirmed, failed };
  State state = State::absent;
  std::string detail;
};

enum class RegistryEvent : std::uint8_t { ordered_in, ordered_out, confirmed, gave_up };

/// The transitions of a registry's record.
inline constexpr StateTable<RegistryRecord::State, RegistryEvent, 5, 4> kRegistryTable = [] {
  using enum RegistryRecord::State;
  constexpr char const* kNotAsked = "it has no order to remove anything";
  constexpr char const* kSettled = "the first answer counts";
  return StateTable<RegistryRecord::State, RegistryEvent, 5, 4>{{
      // ordered_in, ordered_out, confirmed, gave_up
      {{move_to(registered), move_to(deregistering), ignored(absent, kNotAsked),
        ignored(absent, kNotAsked)}},
      {{move_to(registered), move_to(deregistering), ignored(registered, kNotAsked),
        ignored(registered, kNotAsked)}},
      {{move_to(registered), move_to(deregistering), move_to(confirmed), move_to(failed)}},
      {{move_to(registered), move_to(deregistering), ignored(confirmed, kSettled),
        ignored(confirmed, kSettled)}},
      {{move_to(registered), move_to(deregistering), move_to(confirmed),
        ignored(failed, kSettled)}},
  }};
}();

class Registrations {
 public:
  explicit Registrations(std::size_t count) : records_(count) {}

  bool is_empty() const { return records_.empty(); }
  /// Whether the registries have, or may have, this instance, so that they will be ordered to
  /// remove it.
  bool is_registered() const { return registered_; }
  std::vector<RegistryRecord> const& records() const { return records_; }
  /// Whether no registry has got an order in this life.
  bool is_untouched() const { return every(RegistryRecord::State::absent, true); }
  bool are_settled() const { return every(RegistryRecord::State::deregistering, false); }
  bool are_confirmed() const { return every(RegistryRecord::State::failed, false); }

  void register_all() { order(RegistryEvent::ordered_in, true); }
  void deregister_all() { order(RegistryEvent::ordered_out, false); }
  /// Assumes that the registries have this instance: an earlier life may have registered it, or not
  /// all registries were ordered to remove it.
  void assume_registered() { registered_ = !records_.empty(); }
  void settled(RegistrySettled const& settled) {
    LC_ASSERT(settled.registry < records_.size());
    RegistryRecord& record = records_[settled.registry];
    auto const event = settled.confirmed ? RegistryEvent::confirmed : RegistryEvent::gave_up;
    auto const& cell = cell_of(kRegistryTable, record.state, event);
    if (cell.kind == CellKind::move) {
      if (record.state == RegistryRecord::State::deregistering) {
        record.detail = settled.detail;
      }
      record.state = cell.to;
    }
  }
  /// A stop has ended, and what the next engine's registries hold is unknown.
  void forget() {
    records_.assign(records_.size(), {});
    registered_ = false;
  }

  void fingerprint(Mixer& m) const {
    for (RegistryRecord const& record : records_) {
      m.put(record.state);
    }
    m.put(registered_);
  }

 private:
  void order(RegistryEvent event, bool registered) {
    for (RegistryRecord& record : records_) {
      record = {cell_of(kRegistryTable, record.state, event).to, {}};
    }
    registered_ = registered;
  }
  /// Whether every record is in this state.
  bool every(RegistryRecord::State state, bool is_in_it) const {
    return std::all_of(records_.begin(), records_.end(), [&](RegistryRecord const& record) {
      return (record.state == state) == is_in_it;
    });
  }

  std::vector<RegistryRecord> records_;
  bool registered_ = false;
};

}  // namespace lastcall::lifecycle
