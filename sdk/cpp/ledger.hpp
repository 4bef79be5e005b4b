// The live requests of this process, and the lines that report them to the supervisor.
//
// Rules:
//  1. The table is authoritative, whatever was sent before. announce() reports all of it again: the
//     live requests as `resumed`, their cancels, and the ends that no supervisor has read.
//  2. A request that waits for admission asks again on each connection, and starts unadmitted when
//     there has been no supervisor (no connection, or one without `welcome`) for kUnadmittedAfter,
//     or none that answers.
//  3. Memory grows with live requests only; the ends that wait for a supervisor are limited.
//
// Thread rule: under the session's mutex; functions that a call adds to `Later` are called without
// it.
// Source: docs/ipc.md, 'Reconnecting'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lastcall/client.hpp>

#include "ipc/message.hpp"
#include "sdk/cpp/context_state.hpp"
#include "sdk/cpp/end_reports.hpp"
#include "sdk/cpp/later.hpp"
#include "sdk/cpp/outbox.hpp"
#include "sdk/cpp/progress_reports.hpp"
#include "sdk/cpp/supervisor_absence.hpp"

namespace lastcall::sdk {

using Decided = std::function<void(RequestContext const&, Admission const&)>;

struct Entry {
  ContextPtr context;
  std::string endpoint;
  std::string model;
  std::string parent;
  std::optional<bool> stream;
  std::uint8_t priority{};
  std::optional<std::uint64_t> way{};
  Clock::time_point began_at{Clock::now()};
  Decided waiting;       // set while it waits for admission
  bool was_announced{};  // a supervisor was notified of it

  /// The wait is over, if there is one.
  void settle(Admission const& admission, Later& later);
};

class Ledger {
 public:
  explicit Ledger(Outbox& outbox) : outbox_(outbox) {}

  /// Throws std::invalid_argument if the id is live already, and then leaves `decided` to the
  /// caller: its destruction may run the program's code. With `decided`, the supervisor is asked
  /// for admission.
  void begin(Entry entry, Decided&& decided, Later& later);
  Entry* find(std::string_view id);
  Entry* find(ContextState const& context);
  std::vector<ContextPtr> live() const;
  std::size_t size() const { return entries_.size(); }

  void raised(std::span<ContextPtr const> contexts, Notified const& notified, Later& later);
  void ended(ContextState const& context, Outcome outcome, Later& later);
  void confirmed(ContextState const& context);
  void progress(ContextState& context);

  /// The number of live requests and ends that announce() will report.
  std::size_t announced_size() const;
  void announce();
  void welcomed() { absence_.welcomed(); }
  /// The connection has ended; lines that were not written completely are reported again later.
  void lost(Clock::time_point now, Later& later);
  void admitted(std::string_view id, Later& later);
  void rejected(ipc::Rejected const& message, Later& later);
  /// The supervisor has answered a question, perhaps with an error: a supervisor that cannot even
  /// be asked must not stop the engine.
  void answered(std::uint64_t seq, bool is_error, Later& later);
  /// Sends and starts whatever is due; returns the time at which something is due next.
  std::optional<Clock::time_point> tick(Clock::time_point now, Later& later);
  /// Forgets everything for good; requests that wait for admission, or that ask for it later, may
  /// run.
  void clear(Later& later);

 private:
  /// `resumed` means that the request began before the supervisor that reads the line.
  ipc::RequestBegin begin_line(Entry const& entry, bool resumed = false) const;
  void ask(Entry& entry);
  std::optional<Clock::time_point> tick_admission(Clock::time_point now, Later& later);

  Outbox& outbox_;
  std::unordered_map<std::string_view, Entry> entries_;  // keys are the contexts' own ids
  struct Question {
    std::string id;
    Clock::time_point asked_at;
  };
  std::map<std::uint64_t, Question> questions_;  // those without an answer, oldest first
  std::size_t waiting_{};
  EndReports ends_{outbox_};
  ProgressReports progress_{outbox_};
  SupervisorAbsence absence_;
  bool is_closed_{};
};

}  // namespace lastcall::sdk
