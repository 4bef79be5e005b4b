#include "supervisor/runtime/listener/readiness.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::Phase;

bool stays_on(config::ReadinessOnStop on_stop, bool deletion_seen) {
  switch (on_stop) {
    case config::ReadinessOnStop::automatic:
      return deletion_seen;
    case config::ReadinessOnStop::immediate:
      return false;
    case config::ReadinessOnStop::late:
      return true;
  }
  return false;
}

Readiness while_deregistering(bool stays) {
  return stays ? Readiness{true, "deregistering: late requests are still served"}
               : Readiness{false, "deregistering"};
}

/// A signal to this supervisor alone proves no deletion of the pod: a pod that stays is taken out
/// of its Services by the probe only.
constexpr bool kNotDeleted = false;

bool is_leaving(lifecycle::Snapshot const& snapshot) {
  return snapshot.own_restart > lifecycle::RestartStage::announced;
}

}  // namespace

Readiness readiness_of(lifecycle::Snapshot const& snapshot, config::ReadinessOnStop on_stop,
                       bool were_all_registered) {
  std::string const phase(name(snapshot.phase));
  switch (snapshot.phase) {
    case Phase::starting:
      return {false, "starting: " + std::string(snapshot.verdict_reason)};
    case Phase::serving:
      if (is_leaving(snapshot)) {
        return *snapshot.own_restart >= lifecycle::RestartStage::refusing
                   ? Readiness{false, "this supervisor is being restarted"}
                   : while_deregistering(stays_on(on_stop, kNotDeleted));
      }
      if (snapshot.silent) {
        return {false, "unresponsive: " + std::string(snapshot.verdict_reason)};
      }
      return were_all_registered ? Readiness{true, "serving"}
                                 : Readiness{false, "serving, but not registered everywhere yet"};
    case Phase::deregistering:
      return while_deregistering(stays_on(on_stop, snapshot.deletion_seen));
    case Phase::draining:
    case Phase::drained:
    case Phase::cleaning_up:
    case Phase::exited:
      return {false, phase};
  }
  return {false, phase};
}

}  // namespace lastcall::runtime
