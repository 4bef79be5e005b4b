// One place where routers look this instance up, and how it is entered and removed.
//
// Invariants:
//  1. Each operation ends with exactly one Done, called from the loop, never from inside the call.
//  2. `confirmed` after deregister means seen gone, not just asked for.
//  3. Both operations are idempotent: register replaces what is there, deregistering an entry that
//     is not there is confirmed. Nothing that is not ours is touched; a foreign entry in the place
//     of ours is confirmed, too, with a note.
//  4. One operation at a time; RegistrySet sees to that, and to retries and budgets. A registry
//     tries once and reports why it failed.
//
// Thread rule: everything on the loop thread; blocking work belongs on a Worker.
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
  std::string reason;        // why not; with a confirmation: a further remark
  bool is_hopeless = false;  // another try costs much, and will not be better soon

  static RegistryResult ok(std::string note = {}) { return {true, std::move(note), false}; }
  static RegistryResult failed(std::string why) { return {false, std::move(why), false}; }
};

using RegistryDone = std::function<void(RegistryResult)>;

class Registry {
 public:
  Registry() = default;
  virtual ~Registry() = default;  // abandons what is under way; its Done is not called
  Registry(Registry const&) = delete;
  Registry& operator=(Registry const&) = delete;

  /// The kind's word: "file", "etcd". The set decides the name in logs.
  virtual std::string const& kind() const = 0;

  virtual void register_instances(TimePoint deadline, RegistryDone done) = 0;
  virtual void deregister(TimePoint deadline, RegistryDone done) = 0;
  /// The longest time for one try, where no deadline bounds that.
  virtual Duration patience() const { return Duration{0}; }
  /// A deregistration that was given up may be tried again in the background.
  virtual bool may_leave_later() const { return true; }
  /// register_instances() makes good what deregister() took away.
  virtual bool may_enter_again() const { return true; }
  /// Asked to register only once every registry without this property is registered.
  virtual bool enters_last() const { return false; }
  /// Registering is not wanted any more: what is under way should end soon, as failed if need be.
  virtual void hurry() {}
  /// Last of all, even while another operation hangs: give back leases and connections. False, and
  /// no Done, where there is nothing to give back.
  virtual bool disconnect(TimePoint deadline, RegistryDone done);

  /// Something that an operator did, for the places where people look such things up. At any time,
  /// beside any operation; nothing waits for it, and it may be lost.
  virtual void note(std::string const& /*text*/) {}
  /// The same for something that is wrong; `reason` is one word, as Kubernetes has them.
  virtual void warn(std::string const& /*reason*/, std::string const& /*text*/) {}

  /// Called when an entry was lost without our doing (an expired lease): register again.
  void set_on_lost(std::function<void(std::string reason)> callback) {
    on_lost_ = std::move(callback);
  }

 protected:
  std::function<void(std::string reason)> on_lost_;
};

}  // namespace lastcall::discovery
