#include "tests/simulation/action_hash.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

struct Hasher {
  std::uint64_t value = 1469598103934665603ULL;

  void mix(std::uint64_t x) { value = (value ^ x) * 1099511628211ULL + (value >> 31U); }
  void mix(std::string_view text) {
    mix(text.size());
    for (char const c : text) {
      mix(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    }
  }
  void mix(Instant at) { mix(static_cast<std::uint64_t>(to_ms(at))); }
  void mix(Duration d) { mix(static_cast<std::uint64_t>(to_ms(d))); }
  template <typename T>
  void mix(std::optional<T> const& x) {
    mix(std::uint64_t{x.has_value()});
    if (x) {
      mix(*x);
    }
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void mix(Enum x) {
    mix(static_cast<std::uint64_t>(x));
  }
  template <typename... T>
  void all(T const&... parts) {
    (mix(parts), ...);
  }

  void operator()(Remember const& a) { mix(a.blob); }
  void operator()(LeaveWill const& a) {
    all(a.phase, a.mode, a.deadline, a.code.has_value(),
        static_cast<std::uint64_t>(a.code.value_or(0)));
  }
  void operator()(SignalEngine const& a) { all(a.name, std::uint64_t{a.all}); }
  void operator()(ExitShim const& a) { mix(static_cast<std::uint64_t>(a.code)); }
  void operator()(AnnouncePhase const& a) { all(a.phase, a.deadline); }
  void operator()(CancelsReady const& a) { mix(a.peer); }
  void operator()(Admit const& a) { all(a.peer, a.id, a.waited); }
  void operator()(Reject const& a) {
    all(a.peer, std::string_view(a.id), a.reason, a.retry_after, a.limit, a.count,
        std::uint64_t{a.silent});
    mix(a.excess);
  }
  void mix(LoadExcess const& x) { all(x.figure, std::uint64_t{x.rank}, x.value, x.threshold); }
  void operator()(BusyChanged const& a) {
    mix(std::uint64_t{a.busy});
    mix(a.excess);
  }
  void operator()(ForgetPeer const& a) { mix(a.peer); }
  void operator()(Refuse const& a) { all(a.code, std::string_view(a.message)); }
  void operator()(Answer const& a) { mix(std::uint64_t{a.changed}); }
  void operator()(ReleaseHook const& a) { all(a.why, a.held); }
  void operator()(AwaitReplacement const& a) { mix(std::uint64_t{a.condemned}); }
  void operator()(ReplacementEnded const& a) { mix(std::string_view(a.how)); }
  void operator()(DeletionDisproved const&) {}
  void operator()(AskToken const& a) { all(a.number, a.use, std::uint64_t{a.looks_first}); }
  void operator()(Deregister const& a) { all(a.deadline, std::uint64_t{a.returns}); }
  void operator()(StartCleanup const& a) { all(a.item, a.deadline); }
  void operator()(ExitSupervisor const& a) { mix(static_cast<std::uint64_t>(a.code)); }
  void operator()(StopBegun const& a) { all(a.cause, a.detail, a.mode, a.deadline); }
  void operator()(SignalIgnored const& a) { all(std::string_view(a.name), std::uint64_t{a.first}); }
  void operator()(DrainAborted const& a) { all(a.cause, std::string_view(a.detail)); }
  void operator()(PhaseBegun const& a) { mix(a.phase); }
  void operator()(PhaseEnded const& a) { all(a.phase, a.outcome, a.elapsed, a.left, a.in_flight); }
  void operator()(GracefulEndpoints const& a) { mix(std::uint64_t{a.active}); }
  void operator()(VerdictChanged const& a) { all(a.verdict, a.reason); }
  void operator()(RequestSettled const& a) {
    all(a.endpoint, a.model, a.outcome, a.elapsed, a.rejected, std::uint64_t{a.begun},
        std::uint64_t{a.from_tier}, std::uint64_t{a.full});
  }
  void operator()(CancelCounted const& a) {
    all(a.endpoint, a.model, a.stream.has_value(), a.stream.value_or(false), a.reason,
        std::uint64_t{a.from_tier});
  }
  void operator()(CancelSettled const& a) { all(a.reason, a.elapsed); }
  // Their kind is all they say.
  void operator()(WithdrawToken const&) {}
  void operator()(ForgetStopRecord const&) {}
  void operator()(StartEngine const&) {}
  void operator()(RunChecks const&) {}
  void operator()(Register const&) {}
  void operator()(PublishReport const&) {}
  void operator()(Rearm const&) {}
  void operator()(LeaveIngress const&) {}
  void operator()(LastEndpointCompleted const&) {}
};

}  // namespace

std::uint64_t hash_of(std::span<Action const> actions) {
  Hasher hasher;
  for (Action const& action : actions) {
    hasher.mix(std::uint64_t{action.index()});
    std::visit(hasher, action);
  }
  return hasher.value;
}

}  // namespace lastcall::simulation
