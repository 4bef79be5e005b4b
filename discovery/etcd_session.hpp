// The work with etcd, one blocking step after the other.
//
// Invariants:
//  1. One lease for all keys; its id is that of the first instance, so a restarted supervisor takes
//     over the lease and the keys of its earlier life.
//  2. Every change is conditional on the state that was read before: a key that names another pod
//     is never written and never removed.
//  3. A request without an answer may still arrive. After such a put remove() revokes
//     the lease first, so that it is refused; after such a delete enter() writes the key again, so
//     that it finds another revision.
//
// Thread rule: the thread of the registry's jobs. Source: etcd's API; etcd_client.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  EtcdSession(EtcdSettings settings, std::vector<Instance> instances);

  // Each returns why it failed, or an empty text.
  std::string enter(HttpClient& client, TimePoint deadline);
  std::string remove(HttpClient& client, TimePoint deadline);
  std::string revoke(HttpClient& client, TimePoint deadline);
  /// The entry that remove() left where it was, and why: a key that is another pod's by now.
  std::string take_note() { return std::exchange(note_, {}); }

  struct Beat {
    bool lost = false;  // to be entered again: error names what is no longer there
    std::string error;  // not known whether the lease was kept alive; empty: it was
  };
  /// Keeps the lease alive and looks whether the keys are still there.
  Beat beat(HttpClient& client, TimePoint deadline);

  /// As granted, which may differ from what was asked for.
  std::chrono::seconds lease_ttl() const { return lease_ttl_; }

 private:
  using Call = EtcdClient::Call;
  static constexpr char const* kUnreadable = EtcdClient::kUnreadable;

  struct Entry {
    std::string key;
    std::string value;
    std::string pod_uid;
    std::int64_t revision = 0;    // of our last put; 0: not known
    bool delete_is_open = false;  // its answer was not seen
  };

  Beat keep_alive(HttpClient& client, TimePoint deadline);
  std::string hold_lease(Call const& call);
  std::string put(Call const& call, Entry& entry);
  std::string remove(Call const& call, Entry& entry);

  EtcdClient etcd_;
  std::chrono::seconds const wanted_ttl_;
  std::uint64_t const lease_;
  std::vector<Entry> entries_;
  std::chrono::seconds lease_ttl_;
  bool put_is_open_ = false;  // its answer was not seen
  std::string note_;
};

}  // namespace lastcall::discovery
