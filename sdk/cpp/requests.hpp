// The requests of the program: how they begin, and what their contexts and the supervisor report
// about them.
//
// Rules:
//  1. The ledger holds what is known about them; this class takes the mutex around it.
//  2. A context keeps its owner alive, so a request may end after its client is gone.
//  3. A second token within the interval of progress takes no lock.
//
// Thread rule: any thread, without the session's mutex. Source: docs/ipc.md, 'request.begin'.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <lastcall/client.hpp>

#include "ipc/from_supervisor.hpp"
#include "sdk/cpp/context_state.hpp"
#include "sdk/cpp/ledger.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Requests final : public Owner {
 public:
  Requests(SessionLock& lock, Ledger& ledger) : lock_(lock), ledger_(ledger) {}

  // For the program.
  /// `self` is this object, with what keeps it alive.
  RequestContext begin(RequestOptions options, Decided decided, std::shared_ptr<Owner> self);
  std::optional<RequestContext> find(std::string_view id);
  std::vector<RequestContext> live();
  std::size_t in_flight();

  // From the supervisor.
  void admitted(ipc::Admitted const& message);
  void rejected(ipc::Rejected const& message);
  void cancel(ipc::CancelBatch const& message);

  // Owner
  void raised(std::span<ContextPtr const> contexts, Notified const& notified) override;
  void ended(ContextPtr const& context, Outcome outcome) override;
  void confirmed(ContextPtr const& context) override;
  void progress(ContextState& context) override;

 private:
  SessionLock& lock_;
  Ledger& ledger_;
};

}  // namespace lastcall::sdk
