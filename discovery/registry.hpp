// A place where routers look up this instance, with the operations to enter and remove it.
//
// Invariants:
//  1. Each operation ends with exactly one Done, called from the loop, never from inside the call.
//  2. `confirmed` after deregister means that the entry was seen to be gone, not only that its
//     removal was requested.
//  3. Both operations are idempotent: register replaces an existing entry of ours, and
//     deregistering a missing entry is confirmed. Foreign entries are never changed; a foreign
//     entry in the place of ours also confirms a deregistration, with a note.
//  4. One operation runs at a time; RegistrySet ensures that and handles retries and budgets. A
//     registry tries once and reports why it failed.
//
// Thread rule: everything on the loop thread; blocking work belongs on a JobThread.
// Source: specification, 'Discovery'.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace lastcall::discovery {

using Duration = std::chrono::milliseconds;
/// CLOCK_MONOTONIC, as everywhere.
using TimePoint = std::chrono::steady_clock::time_point;

struct RegistryResult {
  bool confirmed = false;
  std::string reason;        // why not; with a confirmation, a note
  bool is_hopeless = false;  // another attempt is expensive and will not help soon
  Duration retry_after{0};   // the wait that a server has asked for, if any

  static RegistryResult ok(std::string note = {}) { return {true, std::move(note), false}; }
  static RegistryResult failed(std::string why) { return {false, std::move(why), false}; }
};

using RegistryDone = std::function<void(RegistryResult)>;

class Registry {
 public:
  Registry() = default;
  virtual ~Registry() = default;  // abandons a running operation; its Done is not called
  Registry(Registry const&) = delete;
  Registry& operator=(Registry const&) = delete;

  virtual void register_instances(TimePoint deadline, RegistryDone done) = 0;
  virtual void deregister(TimePoint deadline, RegistryDone done) = 0;
  /// The longest time for one attempt if no deadline bounds it.
  virtual Duration patience() const { return Duration{0}; }
  /// Whether a deregistration that was given up may be tried again in the background.
  virtual bool may_leave_later() const { return true; }
  /// Whether register_instances() can restore what deregister() removed.
  virtual bool may_enter_again() const { return true; }
  /// Whether it registers only after every registry without this property has registered.
  virtual bool enters_last() const { return false; }
  /// Registering is not wanted any more: a running operation should end soon, even as failed.
  virtual void hurry() {}
  /// The last call, even while another operation hangs: gives back leases and connections. Returns
  /// false, and calls no Done, if there is nothing to give back.
  virtual bool disconnect(TimePoint deadline, RegistryDone done);

  /// Records something that an operator did, where people look up such things. It may be called at
  /// any time, during any operation; nothing waits for it, and it may be lost.
  virtual void note(std::string const& /*text*/) {}
  /// The same for something that is wrong; `reason` is one word in Kubernetes' style.
  virtual void warn(std::string const& /*reason*/, std::string const& /*text*/) {}

  /// The callback is called when an entry was lost without our doing (for example an expired lease)
  /// and has to be registered again.
  void set_on_lost(std::function<void(std::string reason)> callback) {
    on_lost_ = std::move(callback);
  }

 protected:
  std::function<void(std::string reason)> on_lost_;
};

}  // namespace lastcall::discovery
