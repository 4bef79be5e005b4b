// The instances that etcd names: the keys that etcd_registry.hpp writes, read and watched.
//
// Rules:
//  1. The keys below v1/instances/ are read, or those of one namespace, or of one component of it.
//  2. An instance counts whose value has a URL of http under `transport`. Others (Dynamo's own, for
//     example) are not for us.
//  3. Pages of one list are read at the revision of the first; the watch begins after it. Changes
//     that were compacted by then are listed again.
//  4. Before a watch goes on, the member is asked how many keys there are, which only one that has
//     a leader answers: a member that is cut off from the others is not followed for long.
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
/// A page of what begins with `prefix`, from `from` on; `revision` 0: as it is now.
std::string page_body(std::string_view prefix, std::string_view from, std::int64_t revision,
                      int most);
std::string count_body(std::string_view prefix);
std::string watch_body(std::string_view prefix, std::int64_t from_revision);

struct Page {
  std::vector<std::pair<std::string, std::string>> entries;  // keys and values
  std::int64_t revision = 0;
  bool has_more = false;
};
std::optional<Page> parse_page(std::string_view body);

struct Change {
  std::string key;
  std::optional<std::string> value;  // nothing: it is gone
};
struct Watched {
  std::vector<Change> changes;
  std::int64_t revision = 0;  // up to which everything was reported; 0: not given
  bool is_compacted = false;
  std::string error;  // not empty: the server ended it
};
/// One line of a watch; nothing: it is no etcd's.
std::optional<Watched> parse_watched(std::string_view line);

/// Nothing of what is no instance that takes HTTP.
std::optional<FoundInstance> instance_in(std::string_view value);

}  // namespace etcd

std::unique_ptr<InstanceSource> make_etcd_instances(EtcdAccess access, std::string prefix);

}  // namespace lastcall::discovery
