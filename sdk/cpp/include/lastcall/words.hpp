// The closed sets of words for an engine: phases, reasons, outcomes, health.
//
// Invariants:
//  1. An enumerator's name is its word in the protocol and in logs; name() returns it.
//  2. A set grows only together with the protocol's reference, docs/ipc.md.
//  3. Each enumeration has the size of an int: if a smaller one is passed by value, g++ leaves the
//     rest of the register unchanged, but clang, which builds the library, reads it as part of the
//     value.
//
// Pure values, no thread rule; C++17. Source: docs/ipc.md, 'Closed sets'.
#pragma once

#include <string_view>

namespace lastcall {

/// The phase of the instance; phases only rise within one stop.
enum class Phase : int {
  starting,
  serving,
  deregistering,
  draining,
  drained,
  cleaning_up,
  exited,
};

/// Why a request was cancelled.
enum class Reason : int {
  client_disconnect,
  control,
  connection_lost,
  parent,
  operator_,  // `operator` is a keyword of the language; its word is "operator"
  migrate,
  grace_timeout,
  engine_dead,
};

/// How a request ended; each is counted once.
enum class Outcome : int {
  completed,
  cancelled,
  migrated,
  error,
  rejected,
  lost,
  engine_dead,
};

/// Why a request may not run.
enum class Refusal : int { draining, overloaded, queue_timeout };

/// An engine's report about itself.
enum class Health : int { healthy, busy, dead };

/// The word of each value. The text is static.
std::string_view name(Phase phase);
std::string_view name(Reason reason);
std::string_view name(Outcome outcome);
std::string_view name(Refusal refusal);
std::string_view name(Health health);

}  // namespace lastcall
