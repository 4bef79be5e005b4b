// The lines that report cancels: one for all contexts that were cancelled in the same way.
//
// Rule: a live context has no line, and is left out.
//
// Thread rule: an object belongs to the call that makes it. Source: docs/ipc.md, 'cancel'.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ipc/words.hpp"
#include "sdk/cpp/context_state.hpp"
#include "sdk/cpp/outbox.hpp"

namespace lastcall::sdk {

class CancelLines {
 public:
  void add(ContextState const& context);
  void send(Outbox& outbox) &&;

 private:
  std::map<std::pair<ipc::CancelMode, ipc::CancelReason>, std::vector<std::string>> groups_;
};

}  // namespace lastcall::sdk
