#include "discovery/etcd_instances.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/json_member.hpp"
#include "base/parse_number.hpp"
#include "discovery/etcd_wire.hpp"
#include "discovery/watch_lines.hpp"

namespace lastcall::discovery {

namespace etcd {
namespace {

using json::dump;
using json::member;
using json::text;
using Json = nlohmann::ordered_json;

/// The first key after all keys that begin with `prefix`.
std::string end_of(std::string prefix) {
  prefix.back() = static_cast<char>(prefix.back() + 1);  // it ends with a slash
  return prefix;
}

/// etcd writes 64-bit numbers as texts and leaves 0 out.
std::int64_t whole_number(Json const& json) {
  return json.is_number_integer() ? json.get<std::int64_t>()
                                  : parse_number<std::int64_t>(text(json)).value_or(0);
}

std::string decoded(Json const& json) {
  return base64_decode(text(json)).value_or("");
}

}  // namespace

std::string instances_prefix(std::string_view dynamo_namespace, std::string_view component) {
  std::string prefix = "v1/instances/";
  for (std::string_view const part : {dynamo_namespace, component}) {
    if (part.empty()) {
      break;
    }
    prefix.append(part).append("/");
  }
  return prefix;
}

std::string page_body(std::string_view prefix, std::string_view from, std::int64_t revision,
                      int most) {
  return dump(Json{{"key", base64_encode(from)},
                   {"range_end", base64_encode(end_of(std::string(prefix)))},
                   {"revision", std::to_string(revision)},
                   {"limit", std::to_string(most)}});
}

std::string count_body(std::string_view prefix) {
  return dump(Json{{"key", base64_encode(prefix)},
                   {"range_end", base64_encode(end_of(std::string(prefix)))},
                   {"count_only", true}});
}

std::string watch_body(std::string_view prefix, std::int64_t from_revision) {
  return dump(Json{{"create_request",
                    {{"key", base64_encode(prefix)},
                     {"range_end", base64_encode(end_of(std::string(prefix)))},
                     {"start_revision", std::to_string(from_revision)}}}});
}

std::optional<Page> parse_page(std::string_view body) {
  auto const json = json::parsed<Json>(body);
  auto const& header = member(json, "header");
  auto const& kvs = member(json, "kvs");
  if (!header.is_object() || !(kvs.is_array() || kvs.is_null())) {
    return std::nullopt;
  }
  Page page{.entries = {},
            .revision = whole_number(member(header, "revision")),
            .cluster = text(member(header, "cluster_id")),
            .has_more = member(json, "more") == true};
  for (auto const& kv : kvs) {
    page.entries.emplace_back(decoded(member(kv, "key")), decoded(member(kv, "value")));
  }
  if (page.revision <= 0 || (page.has_more && page.entries.empty())) {
    return std::nullopt;
  }
  return page;
}

std::optional<Watched> parse_watched(std::string_view line) {
  auto const json = json::parsed<Json>(line);
  if (auto const& error = member(json, "error"); error.is_object()) {
    auto message = text(member(error, "message"));
    return Watched{.changes = {}, .error = message.empty() ? "an error" : std::move(message)};
  }
  auto const& result = member(json, "result");
  auto const& header = member(result, "header");
  if (!header.is_object()) {
    return std::nullopt;
  }
  Watched watched;
  auto const& events = member(result, "events");
  for (auto const& event : events.is_array() ? events : Json::array()) {
    auto const& kv = member(event, "kv");
    watched.revision = std::max(watched.revision, whole_number(member(kv, "mod_revision")));
    Change change{.key = decoded(member(kv, "key")), .value = {}};
    if (text(member(event, "type")) != "DELETE") {
      change.value = decoded(member(kv, "value"));
    }
    watched.changes.push_back(std::move(change));
  }
  if (member(result, "canceled") == true) {
    watched.is_compacted = whole_number(member(result, "compact_revision")) > 0;
    auto reason = text(member(result, "cancel_reason"));
    watched.error = reason.empty() ? "the watch was cancelled" : std::move(reason);
  }
  return watched;
}

std::optional<FoundInstance> instance_in(std::string_view key, std::string_view value) {
  auto const json = json::parsed<Json>(value);
  if (!json.is_object()) {
    return FoundInstance{
        .url = std::string(key), .model = {}, .problem = "its value is not a JSON object"};
  }
  auto url = text(member(member(json, "transport"), "http"));
  if (url.empty()) {
    return std::nullopt;
  }
  return FoundInstance{.url = std::move(url), .model = text(member(json, "model"))};
}

}  // namespace etcd

namespace {

constexpr int kMostInPage = 500;  // keys of about 500 bytes each, far below the limit of an answer

class EtcdInstances final : public InstanceSource {
 public:
  EtcdInstances(EtcdAccess access, std::string prefix)
      : etcd_(std::move(access)), prefix_(std::move(prefix)) {}

  std::string list(HttpClient& client, TimePoint deadline) override {
    std::map<std::string, FoundInstance> all;
    std::string from = prefix_;
    std::int64_t revision = 0;
    std::string cluster;
    for (bool has_more = true; has_more;) {
      auto const answer = etcd_.ask({client, deadline}, "/v3/kv/range",
                                    etcd::page_body(prefix_, from, revision, page_));
      if (answer.is_too_long && page_ > 1) {
        page_ = std::max(1, page_ / 8);
        continue;
      }
      if (!answer.ok) {
        return answer.error;
      }
      auto page = etcd::parse_page(answer.body);
      if (!page) {
        return EtcdClient::kUnreadable;
      }
      if (revision == 0) {
        revision = page->revision;
        cluster = std::move(page->cluster);
      }
      for (auto& [key, value] : page->entries) {
        if (auto instance = etcd::instance_in(key, value)) {
          all.insert_or_assign(key, std::move(*instance));
        }
        from = std::move(key);
      }
      from.push_back('\0');
      has_more = page->has_more;
    }
    instances_ = std::move(all);
    revision_ = revision;
    cluster_ = std::move(cluster);
    is_listed_now_ = true;
    return {};
  }

  Followed follow(HttpClient& client, TimePoint deadline,
                  std::function<void()> const& changed) override {
    if (!std::exchange(is_listed_now_, false)) {
      auto const answer = etcd_.ask({client, deadline}, "/v3/kv/range", etcd::count_body(prefix_));
      if (!answer.ok) {
        return {Ended::broken, answer.error};
      }
      auto const counted = etcd::parse_page(answer.body);
      if (!counted) {
        return {Ended::broken, EtcdClient::kUnreadable};
      }
      if (counted->revision < revision_ || counted->cluster != cluster_) {
        return {Ended::stale, {}};
      }
    }
    Followed followed{Ended::broken, {}};
    bool is_established = false;
    WatchLines lines;
    std::string const broken =
        etcd_.follow({client, deadline}, "/v3/watch", etcd::watch_body(prefix_, revision_ + 1),
                     [&](std::string_view data) {
                       bool has_changes = false;
                       bool const goes_on = lines.add(data, [&](std::string_view line) {
                         has_changes |= take(line, followed);
                         is_established |= followed.error.empty();
                         return followed.error.empty();
                       });
                       if (has_changes) {
                         changed();
                       }
                       if (!goes_on && followed.error.empty()) {
                         followed.error = EtcdClient::kUnreadable;
                       }
                       return goes_on;
                     });
    constexpr std::chrono::milliseconds kRounding{2};
    if (!followed.error.empty()) {
      return followed;
    }
    if (is_established && TimePoint::clock::now() + kRounding >= deadline) {
      return {};
    }
    return {Ended::broken, broken.empty() ? "etcd ended the watch" : broken};
  }

  std::vector<FoundInstance> found() const override {
    std::vector<FoundInstance> all;
    all.reserve(instances_.size());
    for (auto const& [key, instance] : instances_) {
      all.push_back(instance);
    }
    return all;
  }

 private:
  /// Returns whether something changed; sets `followed` if the watch has ended.
  bool take(std::string_view line, Followed& followed) {
    auto watched = etcd::parse_watched(line);
    if (!watched) {
      followed.error = EtcdClient::kUnreadable;
      return false;
    }
    for (auto& change : watched->changes) {
      auto instance = change.value ? etcd::instance_in(change.key, *change.value) : std::nullopt;
      if (instance) {
        instances_.insert_or_assign(std::move(change.key), std::move(*instance));
      } else {
        instances_.erase(change.key);
      }
    }
    revision_ = std::max(revision_, watched->revision);
    followed.how = watched->is_compacted ? Ended::stale : Ended::broken;
    followed.error = std::move(watched->error);
    return !watched->changes.empty();
  }

  EtcdClient etcd_;
  std::string const prefix_;
  std::map<std::string, FoundInstance> instances_;  // by key
  std::int64_t revision_ = 0;                       // they are known up to it
  std::string cluster_;                             // it answered the list
  int page_ = kMostInPage;
  bool is_listed_now_ = false;
};

}  // namespace

std::unique_ptr<InstanceSource> make_etcd_instances(EtcdAccess access, std::string prefix) {
  return std::make_unique<EtcdInstances>(std::move(access), std::move(prefix));
}

}  // namespace lastcall::discovery
