// The internal state of a RegistrySet: for each registry the desired state and the running
// operation.
//
// Each entry moves towards `wanted`: the running operation ends first, then the next one begins; a
// failed one is repeated with back-off. A removal that a caller waits for ends at `deadline`; after
// it was given up, it continues with nothing in `wanted`.
//
// Thread rule: the loop thread. Invariants: registry_set.hpp.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "discovery/registry_set.hpp"

namespace lastcall::discovery {

struct RegistrySet::State : std::enable_shared_from_this<RegistrySet::State> {
  enum class Operation : std::uint8_t { none, enter, remove };
  using Clock = TimePoint::clock;

  struct Entry {
    Entry(boost::asio::any_io_executor const& executor, std::string called,
          std::unique_ptr<Registry> what)
        : registry(std::move(what)), retry_timer(executor) {
      status.name = std::move(called);
    }
    Duration age() const { return std::chrono::duration_cast<Duration>(Clock::now() - began); }
    std::unique_ptr<Registry> registry;
    RegistryStatus status;
    Operation wanted = Operation::none;   // until it is reached or given up
    Operation running = Operation::none;  // the registry owes us a Done
    bool is_held = false;                 // it enters last, and others have not entered yet
    TimePoint began;                      // when the first attempt began
    boost::asio::steady_timer retry_timer;
  };

  State(boost::asio::any_io_executor on, OnChange callback, RegistrySetSettings const& how)
      : executor(std::move(on)),
        on_change(std::move(callback)),
        settings(how),
        random(how.jitter_seed != 0 ? how.jitter_seed : std::random_device{}()),
        deadline_timer(executor) {}

  void want(Entry& entry, Operation operation);
  void attempt(Entry& entry);
  bool has_to_wait(Entry const& entry) const;
  void release_held();
  void begin(Entry& entry, Operation operation, TimePoint until);
  void ended(Entry& entry, Operation operation, RegistryResult const& result);
  void retry_later(Entry& entry, RegistryResult const& result);
  void attempt_after(Entry& entry, Duration pause);
  void attempt_in(Entry& entry, Duration delay);
  void leave_later(Entry& entry);
  void still_there(Entry& entry, std::string const& reason);
  void give_up(Entry& entry, std::string const& why);
  void lost(Entry& entry, std::string const& reason);
  void arm_deadline();
  void end_removal_if_over();
  void end_removal(std::string const& why);
  void settle(Entry& entry, RegistryState state, std::string error);
  std::vector<RegistryStatus> all_status() const;

  boost::asio::any_io_executor executor;
  OnChange on_change;
  RegistrySetSettings settings;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Entry>> entries;

  bool disconnected = false;  // earlier operations no longer matter

  // The removal that callers wait for, if there is one.
  std::vector<OnAll> waiting;
  TimePoint deadline;
  boost::asio::steady_timer deadline_timer;
};

}  // namespace lastcall::discovery
