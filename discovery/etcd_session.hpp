// The work with etcd, one blocking step after the other.
//
// Invariants:
//  1. The lease has the id of the instance, so a restarted supervisor takes over the lease and the
//     key of its earlier life.
//  2. Every change is conditional on the state that was read before: a key that names another pod
//     is never written and never removed.
//  3. A request without an answer may still arrive later. After such a put, remove() revokes the
//     lease first, so that the put is refused; after such a delete, enter() writes the key again,
//     so that the delete finds another revision and fails.
//
// Thread rule: the thread of the registry's jobs. Source: etcd's API; etcd_client.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "discovery/etcd_client.hpp"
#include "discovery/etcd_wire.hpp"
#include "discovery/http_client.hpp"
#include "discovery/instance.hpp"

namespace lastcall::discovery {

struct EtcdSettings {
  EtcdAccess access;
  std::chrono::seconds lease_ttl{10};
  HttpTls tls;
};

class EtcdSession {
 public:
  EtcdSession(EtcdSettings settings, Instance const& instance);

  // Each returns why it failed, or an empty text.
  std::string enter(HttpClient& client, TimePoint deadline);
  std::string remove(HttpClient& client, TimePoint deadline);
  std::string revoke(HttpClient& client, TimePoint deadline);
  /// A note about a key that remove() did not delete because it now belongs to another pod; empty
  /// if there is none.
  std::string take_note() { return std::exchange(note_, {}); }

  struct Beat {
    bool lost = false;  // `error` names what is gone; it has to be entered again
    std::string error;  // if not `lost`: why it is unknown whether the lease was kept alive
  };
  /// Keeps the lease alive and checks that the key is still there.
  Beat beat(HttpClient& client, TimePoint deadline);

  /// The time to live as granted, which may differ from the requested one.
  std::chrono::seconds lease_ttl() const { return lease_ttl_; }

 private:
  using Call = EtcdClient::Call;
  static constexpr char const* kUnreadable = EtcdClient::kUnreadable;

  Beat keep_alive(HttpClient& client, TimePoint deadline);
  std::string hold_lease(Call const& call);
  std::string put(Call const& call);
  std::string remove_key(Call const& call);
  std::string refuse_foreign(std::string_view value) const;

  EtcdClient etcd_;
  std::chrono::seconds const wanted_ttl_;
  std::uint64_t const lease_;
  std::string const key_;
  std::string const value_;
  std::string const pod_uid_;
  std::chrono::seconds lease_ttl_;
  std::int64_t revision_ = 0;    // our last put's; 0: not known
  bool put_is_open_ = false;     // a put was sent whose answer was not seen
  bool delete_is_open_ = false;  // a delete was sent whose answer was not seen
  std::string note_;
};

}  // namespace lastcall::discovery
