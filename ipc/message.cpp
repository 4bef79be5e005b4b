#include "ipc/message.hpp"

#include <type_traits>

#include "ipc/ops.hpp"

namespace lastcall::ipc {
namespace {

template <typename T, typename... Listed>
constexpr bool is_one_of = (std::is_same_v<T, Listed> || ...);

}  // namespace

std::string_view op_of(ToSupervisor const& message) {
  return kToSupervisorOps[message.index()];
}
std::string_view op_of(FromSupervisor const& message) {
  return kFromSupervisorOps[message.index()];
}

bool may_send(Role role, ToSupervisor const& message) {
  return std::visit(
      [role]<typename T>(T const&) {
        if constexpr (is_one_of<T, Hello, Ack, Error>) {
          return true;
        } else if constexpr (is_one_of<T, Cancel>) {
          return role == Role::engine || role == Role::operator_;
        } else if constexpr (is_one_of<T, EngineStarted, EngineExited, EngineTree, EngineDied,
                                       EngineStopped, Signal, Ping>) {
          return role == Role::shim;
        } else if constexpr (is_one_of<T, StatusQuery, RequestsQuery, Watch, Drain, Resume, Reload,
                                       AdmissionSet, ThresholdsSet>) {
          return role == Role::operator_;
        } else if constexpr (is_one_of<T, Prestop>) {
          return role == Role::hook;
        } else {
          static_assert(is_one_of<T, EndpointRegister, EndpointUnregister, RequestBegin, RequestEnd,
                                  RequestProgress, CancelDone, Health, HealthDoubt, Load, Fatal,
                                  Registered, Deregistered, CleanupDone>);
          return role == Role::engine;
        }
      },
      message);
}

}  // namespace lastcall::ipc
