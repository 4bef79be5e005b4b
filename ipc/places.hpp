// The places for connections, and who gets one when they are rare.
//
// Invariants:
//  1. The admin socket has places of its own, and one process has a limited share of each socket's.
//  2. A connection beyond the engine socket's limit gets an extra place until its hello shows
//     whether it is the shim's. Few of them are kept: the oldest has to leave for a further one.
//
// Pure, no thread rule. Source: docs/ipc.md.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include "ipc/server.hpp"

namespace lastcall::ipc {

class Places {
 public:
  /// `limits` must outlive this.
  explicit Places(ServerOptions const& limits) : limits_(limits) {}

  /// Empty if a peer of this process gets a place, perhaps only an extra one.
  std::string_view why_none(bool is_admin, pid_t pid) const;
  /// Returns whether it is an extra place.
  bool take(PeerId peer, bool is_admin, pid_t pid);
  void give_back(bool is_admin, pid_t pid, bool is_extra);
  /// The peer that has to leave its extra place, if any. Those for which `needs_it` is false need
  /// theirs no more.
  std::optional<PeerId> surplus(std::function<bool(PeerId)> const& needs_it);

 private:
  std::size_t limit(bool is_admin) const;

  ServerOptions const& limits_;
  std::array<std::size_t, 2> taken_{};  // by is_admin, without extra ones
  std::map<std::pair<bool, pid_t>, std::size_t> held_by_;
  std::deque<PeerId> extra_;
};

}  // namespace lastcall::ipc
