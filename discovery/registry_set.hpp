// All registries of this instance, driven in parallel towards one wanted state.
//
// Invariants:
//  1. The last call holds: register_all() and deregister_all() set what is wanted; an operation
//     that is under way ends first, then the other begins.
//  2. Registering is retried for ever, deregistering until its deadline, both with back-off and
//     jitter. A registry that fails never delays another, nor the stop beyond the deadline.
//  3. deregister_all() always ends, with one result for each registry, at the deadline at latest;
//     a register_all() in between ends it as failed ("superseded").
//     Given up at the deadline it is tried on, `retry_most` apart, with the state `failed` until
//     it is confirmed: to the next register_all() or disconnect_all().
//  4. Deregistering is tried also when nothing was registered in this process: an earlier life may
//     have been.
//
//  5. A registry that enters last is not asked to before every other one is registered; one that is
//     lost later does not take it away again.
//
// Thread rule: everything on the loop thread, callbacks included.
#pragma once

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
  idle,  // nothing was asked for yet
  registering,
  registered,
  deregistering,
  deregistered,  // confirmed
  failed,        // deregistering was given up at its deadline, and is tried on
};

std::string_view name(RegistryState state);

enum class Leaving : std::uint8_t { for_good, for_a_while };

struct RegistryStatus {
  std::string name;
  RegistryState state = RegistryState::idle;
  std::size_t attempts = 0;  // of the operation under way, or of the last one
  std::string last_error;
  std::string note;    // of an operation that was confirmed
  Duration latency{};  // of the last operation, from the first attempt to its end
};

struct RegistrySetSettings {
  Duration retry_first{100};
  Duration retry_most{5'000};          // while registering, which has all the time
  Duration retry_most_in_a_stop{500};  // while deregistering, which has a deadline
  Duration attempt_timeout{2'000};     // of one attempt without a deadline, or its patience()
  std::uint64_t jitter_seed = 0;       // 0: random
};

class RegistrySet {
 public:
  /// An operation ended, or an attempt failed and will be repeated (state still `registering` or
  /// `deregistering`, last_error set).
  using OnChange = std::function<void(RegistryStatus const& status)>;
  using OnAll = std::function<void(std::vector<RegistryStatus> const& results)>;

  RegistrySet(boost::asio::any_io_executor executor, OnChange on_change,
              RegistrySetSettings settings = {});
  ~RegistrySet();
  RegistrySet(RegistrySet const&) = delete;
  RegistrySet& operator=(RegistrySet const&) = delete;

  void add(std::string name, std::unique_ptr<Registry> registry);
  bool empty() const;

  void register_all();
  /// `done` comes when each is confirmed or given up. Without registries it comes at once.
  /// For a while: those that cannot enter again by register_all() stay as they are.
  void deregister_all(TimePoint deadline, OnAll done, Leaving leaving = Leaving::for_good);
  /// Asks each once, without a wait: one that did not confirm is `failed`, and tried on as above.
  void ask_all_to_leave();
  /// Gives back leases and connections; ends whatever else is under way.
  void disconnect_all(TimePoint deadline, OnAll done);

  /// To each: an operator's order, in a sentence.
  void note(std::string const& text);

  std::vector<RegistryStatus> status() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::discovery
