// The evidence of the pod's deletion, and how long a hook's report is valid.
//
// Rules:
//  1. Evidence only rises: a hook's report, our own signal, the pod's `deletionTimestamp`.
//  2. Our own signal and the timestamp never expire in the process that saw them. A hook's report
//     does: a pod that still runs after the first call of each hook plus its grace was not deleted.
//
// Pure values, no thread rule. Source: specification, 'Deletion evidence'; the kubelet
// extends a grace that a preStop hook has used up by 2 s.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

class DeletionEvidence {
 public:
  enum class Source : std::uint8_t { none, hook, own_signal, pod };

  /// A preStop hook that was first called at that time reported the deletion. The first call
  /// counts; a call that the pod has already outlived proves nothing.
  void reported_by_hook(Instant called_at) {
    if (disproved_at_ && called_at < *disproved_at_) {
      return;
    }
    source_ = std::max(source_, Source::hook);
    called_at_ = called_at_ ? std::min(*called_at_, called_at) : called_at;
  }
  void signalled() { source_ = std::max(source_, Source::own_signal); }
  void read() { source_ = Source::pod; }
  /// The pod has outlived the hook's report.
  void disprove(Instant now) {
    source_ = Source::none;
    called_at_.reset();
    disproved_at_ = now;
  }

  bool is_there() const { return source_ != Source::none; }
  bool is_read() const { return source_ == Source::pod; }
  Source source() const { return source_; }
  /// The time at which a hook's report proves to be false in a pod with that grace. The kubelet
  /// calls the engine's hook at the same time, and that call may have come last.
  std::optional<Instant> disproved_by(Duration pod_grace,
                                      std::optional<Instant> engine_hook_at) const {
    constexpr Duration kKubeletExtension{2'000};
    if (source_ != Source::hook) {
      return std::nullopt;
    }
    return std::max(*called_at_, engine_hook_at.value_or(*called_at_)) + pod_grace +
           kKubeletExtension;
  }

 private:
  Source source_ = Source::none;
  std::optional<Instant> called_at_;  // the first hook
  std::optional<Instant> disproved_at_;
};

}  // namespace lastcall::lifecycle
