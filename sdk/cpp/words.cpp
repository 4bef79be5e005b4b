#include "ipc/words.hpp"

#include <lastcall/errors.hpp>
#include <lastcall/words.hpp>

namespace lastcall {
namespace {

/// The public sets are the protocol's under shorter names, with the same words in the same order.
template <typename Theirs, typename Ours>
constexpr bool ends_alike(Theirs last, Ours ours) {
  return static_cast<int>(last) == static_cast<int>(ours);
}

static_assert(ends_alike(Phase::exited, ipc::Phase::exited));
static_assert(ends_alike(Phase::drained, ipc::Phase::drained));
static_assert(ends_alike(Reason::engine_dead, ipc::CancelReason::engine_dead));
static_assert(ends_alike(Reason::operator_, ipc::CancelReason::operator_));
static_assert(ends_alike(Outcome::engine_dead, ipc::Outcome::engine_dead));
static_assert(ends_alike(Refusal::queue_timeout, ipc::RejectedReason::queue_timeout));
static_assert(ends_alike(Health::dead, ipc::HealthStatus::dead));

// An engine may be built by another compiler than the library: see the rules of the header.
template <typename... Sets>
constexpr bool kFillRegisters = ((sizeof(Sets) == 4) && ...);
static_assert(kFillRegisters<Phase, Reason, Outcome, Refusal, Health, ErrorKind>);

}  // namespace

std::string_view name(Phase phase) {
  return name(static_cast<ipc::Phase>(phase));
}
std::string_view name(Reason reason) {
  return name(static_cast<ipc::CancelReason>(reason));
}
std::string_view name(Outcome outcome) {
  return name(static_cast<ipc::Outcome>(outcome));
}
std::string_view name(Refusal refusal) {
  return name(static_cast<ipc::RejectedReason>(refusal));
}
std::string_view name(Health health) {
  return name(static_cast<ipc::HealthStatus>(health));
}

}  // namespace lastcall
