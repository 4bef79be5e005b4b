// All registries of this instance, driven in parallel towards one desired state.
//
// Invariants:
//  1. The last call wins: register_all() and deregister_all() set the desired state; a running
//     operation ends first, then the next one begins.
//  2. Registering is retried without end, deregistering until its deadline, both with back-off and
//     jitter. A registry that fails never delays another one, nor the stop beyond the deadline. A
//     server that asks to be left alone for some time is: while registering for `retry_after_most`
//     at most, while deregistering for half of the time that is left.
//  3. deregister_all() always ends, with one result for each registry, at the deadline at the
//     latest; a register_all() in between ends it as failed ("superseded"). A removal that was
//     given up at the deadline is still tried, `retry_most` apart, and has the state `failed` until
//     it is confirmed or the next register_all() or disconnect_all() comes.
//  4. Deregistering is tried even if this process has not registered anything: an earlier life may
//     have.
//
//  5. A registry that enters last is not asked to register before every other one has; if another
//     one is lost later, it stays registered.
//
// Thread rule: everything on the loop thread, callbacks included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/registry.hpp"

namespace lastcall::discovery {

enum class RegistryState : std::uint8_t {
  idle,  // no operation was requested yet
  registering,
  registered,
  deregistering,
  deregistered,  // confirmed
  failed,        // deregistering was given up at its deadline, and is still tried
};

constexpr std::string_view name(RegistryState state) {
  constexpr std::array<std::string_view, 6> kNames{"idle",          "registering",  "registered",
                                                   "deregistering", "deregistered", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

enum class Leaving : std::uint8_t { for_good, for_a_while };

struct RegistryStatus {
  std::string name;
  RegistryState state = RegistryState::idle;
  std::size_t attempts = 0;  // of the running operation, or of the last one
  std::string last_error;
  std::string note;    // from an operation that was confirmed
  Duration latency{};  // of that operation, from the first attempt to the end of the last one
};

struct RegistrySetSettings {
  Duration retry_first{100};
  Duration retry_most{5'000};          // while registering, which has no deadline
  Duration retry_most_in_a_stop{500};  // while deregistering, which has a deadline
  Duration retry_after_most{60'000};   // of what a server asks for while registering
  Duration attempt_timeout{2'000};     // of one attempt without a deadline, or its patience()
  std::uint64_t jitter_seed = 0;       // 0: random
};

class RegistrySet {
 public:
  /// Called when an operation has ended, or an attempt has failed and will be repeated (the state
  /// is still `registering` or `deregistering`, and last_error is set).
  using OnChange = std::function<void(RegistryStatus const& status)>;
  using OnAll = std::function<void(std::vector<RegistryStatus> const& results)>;

  RegistrySet(boost::asio::any_io_executor executor, OnChange on_change,
              RegistrySetSettings settings = {});
  ~RegistrySet();
  RegistrySet(RegistrySet const&) = delete;
  RegistrySet& operator=(RegistrySet const&) = delete;

  void add(std::string name, std::unique_ptr<Registry> registry);

  void register_all();
  /// `done` is called when each registry is confirmed or given up; without registries, at once.
  /// With Leaving::for_a_while, registries that register_all() could not enter again are left
  /// alone.
  void deregister_all(TimePoint deadline, OnAll done, Leaving leaving = Leaving::for_good);
  /// Asks each registry once, without waiting: one that did not confirm is `failed`, and is tried
  /// again as above.
  void ask_all_to_leave();
  /// Gives back leases and connections, and ends all other operations.
  void disconnect_all(TimePoint deadline, OnAll done);

  /// Passes a sentence about an operator's command to each registry.
  void note(std::string const& text);

  std::vector<RegistryStatus> status() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::discovery
