// Decides which users may connect, and which refusals are worth a line of the log.
//
// Rules:
//  1. Root and the supervisor's own user always may; others only if the options say so, and to the
//     admin socket only if they are listed.
//  2. A refused client tries again and again, so each uid is reported once, and a bounded number of
//     them.
//
// No thread rule. Source: docs/ipc.md, unix(7) (SO_PEERCRED).
#pragma once

#include <vector>

#include <sys/types.h>

#include "ipc/server.hpp"

namespace lastcall::ipc {

class UidRules {
 public:
  /// `options` must outlive this.
  explicit UidRules(ServerOptions const& options) : options_(options) {}

  bool is_allowed(uid_t uid, bool is_admin) const;
  /// Whether this refusal is to be reported.
  bool is_new_refusal(uid_t uid);

 private:
  ServerOptions const& options_;
  std::vector<uid_t> refused_;
};

}  // namespace lastcall::ipc
