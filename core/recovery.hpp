// Tracks what is known of an earlier life of this supervisor, and holds the commands that wait for
// that.
//
//   unborn -> waiting -> known
//
// Rules:
//  1. Until a shim's hello, a stop record or kRecoveryWindow has decided, nothing is registered and
//     a command waits: the shim may hold a stop that outranks it.
//  2. A command of this life, or of its pod, outranks a remembered drain.
//  3. Peers of an earlier life may come back within kRecoveryWindow; until then no gate counts as
//     empty.
//
// Owned by the core's thread. Source: specification, 'Processes'; specification, 'Reconnecting'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "core/held_commands.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

class Recovery {
 public:
  enum class Stage : std::uint8_t { unborn, waiting, known };

  void started(Instant now) {
    stage_ = stage_ == Stage::unborn ? Stage::waiting : stage_;
    until_ = now + kRecoveryWindow;
  }
  /// The earlier life is known, or it is known that there was none.
  void end() { stage_ = Stage::known; }
  bool is_over() const { return stage_ == Stage::known; }

  // --- commands ---
  /// Returns true if the command waits until the recovery is over.
  bool hold(Event const& event) {
    if (is_over()) {
      return false;
    }
    held_.add(event);
    return true;
  }
  bool has_held() const { return !held_.empty(); }
  std::vector<Event> take_held() { return held_.take(); }
  void decide() { decided_ = true; }
  bool is_decided() const { return decided_; }

  // --- what was restored ---
  void restored(Instant now, std::string boot, bool own_container, std::uint32_t peers,
                std::uint32_t returned) {
    boot_ = std::move(boot);
    own_container_ = own_container;
    expected_peers_ = peers;
    if (peers > 0 && returned < peers) {
      peers_until_ = now + kRecoveryWindow;
    }
  }
  /// The boot of the shim whose stop this is; empty if there was none.
  std::string const& boot() const { return boot_; }
  bool had_own_container() const { return own_container_; }
  bool awaits_peers() const { return peers_until_.has_value(); }
  std::optional<Instant> peers_until() const { return peers_until_; }
  std::uint32_t expected_peers() const { return expected_peers_; }
  /// Whether peers are awaited, or were in vain but may still come.
  bool misses_peers() const { return peers_until_ || misses_peers_; }
  /// A drain or stop begins. What peers lost before it is not part of its account.
  void drain_begins() { misses_peers_ = false; }

  /// Applies what depends on time, and on peers that are back.
  void update(Instant now, std::uint32_t returned) {
    if (stage_ == Stage::waiting && now >= until_) {
      end();
    }
    if (misses_peers() && returned >= expected_peers_) {
      peers_until_.reset();
      misses_peers_ = false;
    } else if (peers_until_ && now >= *peers_until_) {
      peers_until_.reset();
      misses_peers_ = true;
    }
  }
  std::optional<Instant> next_deadline() const {
    return earlier_of(stage_ == Stage::waiting ? std::optional(until_) : std::nullopt,
                      peers_until_);
  }
  /// The stop of that boot has ended.
  void forget_stop() {
    boot_.clear();
    decided_ = false;
    misses_peers_ = false;
  }

  void fingerprint(Mixer& m, bool shim_is_known) const;

 private:
  Stage stage_ = Stage::unborn;
  Instant until_{};
  HeldCommands held_;
  bool decided_ = false;
  std::string boot_;
  bool own_container_ = false;
  std::optional<Instant> peers_until_;
  std::uint32_t expected_peers_ = 0;
  bool misses_peers_ = false;  // after the window
};

}  // namespace lastcall::lifecycle
