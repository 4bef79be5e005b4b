// Reads and watches the instances in etcd, under the keys that etcd_registry.hpp writes.
//
// Rules:
//  1. It reads all keys below v1/instances/, or those of one namespace, or of one component in it.
//  2. An instance counts if its value has an http URL under `transport`. Others (such as Dynamo's
//     own) do not take HTTP requests.
//  3. All pages of one list are read at the revision of the first; the watch begins after it. If
//     changes since then were compacted, the list is read again. A page that is too long for an
//     answer, because of large values, is read again with fewer keys.
//  4. Before a watch continues, the member is asked for the number of keys. Only a member with a
//     leader answers that, so a member that is cut off from the others is not followed for long.
//     If the answer is from another cluster, or from one that has lost revisions (its data was lost
//     or restored), the list is read again: a watch would wait for revisions that are long to come.
//
// Thread rule: the thread of the source's jobs. Source: etcd's gRPC gateway, /v3/watch;
// etcd_wire.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/etcd_client.hpp"
#include "discovery/instance_watch.hpp"

namespace lastcall::discovery {

namespace etcd {

std::string instances_prefix(std::string_view dynamo_namespace, std::string_view component);
/// Requests a page of the keys that begin with `prefix`, starting at `from`; `revision` 0 means the
/// current one.
std::string page_body(std::string_view prefix, std::string_view from, std::int64_t revision,
                      int most);
std::string count_body(std::string_view prefix);
std::string watch_body(std::string_view prefix, std::int64_t from_revision);

struct Page {
  std::vector<std::pair<std::string, std::string>> entries;  // keys and values
  std::int64_t revision = 0;
  std::string cluster;  // the cluster's id
  bool has_more = false;
};
std::optional<Page> parse_page(std::string_view body);

struct Change {
  std::string key;
  std::optional<std::string> value;  // unset: the key was deleted
};
struct Watched {
  std::vector<Change> changes;
  std::int64_t revision = 0;  // everything up to it was reported; 0: not given
  bool is_compacted = false;
  std::string error;  // if not empty, the server ended the watch
};
/// One line of a watch; nothing if it is not etcd's.
std::optional<Watched> parse_watched(std::string_view line);

/// The instance in a key's value, or the problem with that value; nothing if it is an instance that
/// takes no HTTP.
std::optional<FoundInstance> instance_in(std::string_view key, std::string_view value);

}  // namespace etcd

std::unique_ptr<InstanceSource> make_etcd_instances(EtcdAccess access, std::string prefix);

}  // namespace lastcall::discovery
