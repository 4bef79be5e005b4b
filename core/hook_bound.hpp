// The stop of the engine's container: its first preStop call, and whether it bounds a drain.
//
// Rules:
//  1. The first call counts; a later one changes nothing.
//  2. It bounds phases 1 and 2 until its calls have returned.
//  3. If the pod is being deleted, too, a stop's bound applies; otherwise the bound of a
//     container's restart does.
//
// Values only, no thread rule. Source: specification, 'preStop'.
#pragma once

#include <algorithm>
#include <optional>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

class HookBound {
 public:
  struct Hook {
    Instant called_at;
    bool deletion = false;          // the pod is being deleted, too
    bool began_drain = false;       // nothing but the hook has requested the drain
    std::optional<Duration> grace;  // of the deletion, if it was read; only for reports
    friend bool operator==(Hook const&, Hook const&) = default;
  };

  /// `began_drain`: the drain is this call's own.
  void call(Instant now, bool began_drain) {
    if (!hook_) {
      hook_ = Hook{.called_at = now};
    }
    hook_->began_drain = hook_->began_drain || began_drain;
    over_ = false;
  }
  /// The pod is being deleted.
  void explain() {
    if (hook_) {
      hook_->deletion = true;
    }
  }
  /// The drain was also requested otherwise, so it does not end with the hook.
  void drain_is_asked_for() {
    if (hook_) {
      hook_->began_drain = false;
    }
  }
  /// Restores a call that an earlier life has received.
  void was_called_at(Instant earlier) {
    if (hook_) {
      hook_->called_at = std::min(hook_->called_at, earlier);
    }
  }
  /// Its calls have returned, so it bounds nothing any more.
  void end() { over_ = true; }
  /// No container is being stopped any more.
  void forget() { hook_.reset(); }
  void restore(std::optional<Hook> const& hook) {
    hook_ = hook;
    over_ = false;
  }

  std::optional<Hook> const& get() const { return hook_; }
  bool is_over() const { return over_; }
  bool binds() const { return hook_ && !over_; }
  /// The part of the pod's grace that it has used.
  Duration spent_at(Instant at) const {
    return hook_ ? std::max(at - hook_->called_at, Duration{0}) : Duration{0};
  }

 private:
  std::optional<Hook> hook_;
  bool over_ = false;
};

}  // namespace lastcall::lifecycle
