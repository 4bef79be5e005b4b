#include "discovery/etcd_session.hpp"

#include <utility>

namespace lastcall::discovery {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Why the key must not be touched; empty if it is ours.
std::string refuse_foreign(std::string const& key, std::string_view value,
                           std::string const& pod_uid) {
  auto const owner = etcd::owner_of(value);
  if (owner == pod_uid) {
    return {};
  }
  return "cannot touch " + key + ": it belongs to " +
         (owner.empty() ? "somebody else" : "pod " + owner) + ", this one is " + pod_uid;
}

}  // namespace

EtcdSession::EtcdSession(EtcdSettings settings, std::vector<Instance> instances)
    : etcd_(std::move(settings.access)),
      wanted_ttl_(settings.lease_ttl),
      lease_(instances.empty() ? 0 : instances.front().id),
      lease_ttl_(settings.lease_ttl) {
  for (auto const& instance : instances) {
    entries_.push_back(
        {etcd::instance_key(instance), etcd::instance_value(instance), instance.pod_uid});
  }
}

EtcdSession::Beat EtcdSession::keep_alive(HttpClient& client, TimePoint deadline) {
  auto const answer =
      etcd_.ask({client, deadline}, "/v3/lease/keepalive", etcd::lease_body(lease_));
  if (!answer.ok) {
    return {contains(answer.error, "lease not found"), answer.error};
  }
  auto const ttl = etcd::parse_kept_alive(answer.body);
  if (!ttl) {
    return {false, kUnreadable};
  }
  if (*ttl <= 0) {
    return {true, "the lease is gone"};
  }
  lease_ttl_ = std::chrono::seconds(*ttl);
  return {};
}

EtcdSession::Beat EtcdSession::beat(HttpClient& client, TimePoint deadline) {
  auto beat = keep_alive(client, deadline);
  for (auto const& entry : entries_) {
    if (!beat.error.empty()) {
      break;
    }
    auto const answer = etcd_.ask({client, deadline}, "/v3/kv/range", etcd::range_body(entry.key));
    auto const found = answer.ok ? etcd::parse_range(answer.body) : std::nullopt;
    if (found && !found->exists) {
      beat = {true, entry.key + " is gone"};
    } else if (found && (found->value != entry.value || found->lease != lease_)) {
      beat = {true, entry.key + " is not as it was written"};
    }
  }
  return beat;
}

/// Gets the lease: a new one, or that of an earlier life.
std::string EtcdSession::hold_lease(Call const& call) {
  auto const body = etcd::grant_body(lease_, wanted_ttl_.count());
  for (bool again = true;; again = false) {
    auto const granted = etcd_.ask(call, "/v3/lease/grant", body);
    if (granted.ok) {
      lease_ttl_ = wanted_ttl_;
      return {};
    }
    if (!contains(granted.error, "lease already exists")) {
      return granted.error;
    }
    auto const beat = keep_alive(call.client, call.deadline);
    if (!beat.lost || !again) {
      return beat.lost ? "the lease ends as soon as it is granted" : beat.error;
    }
  }
}

std::string EtcdSession::put(Call const& call, Entry& entry) {
  // First on the condition that there is no key, then on the condition of what was found there.
  for (bool again = true;; again = false) {
    put_is_open_ = true;
    auto const answer = etcd_.ask(call, "/v3/kv/txn",
                                  etcd::put_body(entry.key, entry.value, lease_, entry.revision));
    if (!answer.ok) {
      return answer.error;
    }
    auto const done = etcd::parse_transaction(answer.body);
    if (!done) {
      return kUnreadable;
    }
    put_is_open_ = false;
    if (done->succeeded) {
      entry.revision = done->revision;
      entry.delete_is_open = false;  // an earlier delete would find another revision
      return {};
    }
    entry.revision = done->found.revision;
    if (done->found.exists) {
      if (auto refusal = refuse_foreign(entry.key, done->found.value, entry.pod_uid);
          !refusal.empty()) {
        entry.revision = 0;
        return refusal;
      }
      if (done->found.value == entry.value && done->found.lease == lease_ &&
          !entry.delete_is_open) {
        return {};
      }
    }
    if (!again) {
      return "cannot write " + entry.key + ": another process writes it";
    }
  }
}

std::string EtcdSession::enter(HttpClient& client, TimePoint deadline) {
  Call const call{client, deadline};
  if (auto failed = hold_lease(call); !failed.empty()) {
    return failed;
  }
  for (auto& entry : entries_) {
    if (auto failed = put(call, entry); !failed.empty()) {
      return failed;
    }
  }
  return {};
}

/// Deletes the key and reads it again until it is gone.
std::string EtcdSession::remove(Call const& call, Entry& entry) {
  for (int i = 0; i < 3; ++i) {
    if (entry.revision != 0) {
      entry.delete_is_open = true;
      auto const deleted =
          etcd_.ask(call, "/v3/kv/txn", etcd::delete_body(entry.key, entry.revision));
      if (!deleted.ok) {
        return deleted.error;
      }
    }
    auto const answer = etcd_.ask(call, "/v3/kv/range", etcd::range_body(entry.key));
    if (!answer.ok) {
      return answer.error;
    }
    auto const found = etcd::parse_range(answer.body);
    if (!found) {
      return kUnreadable;
    }
    entry.revision = found->revision;
    if (!found->exists) {
      entry.delete_is_open = false;
      return {};
    }
    if (auto refusal = refuse_foreign(entry.key, found->value, entry.pod_uid); !refusal.empty()) {
      entry.revision = 0;
      entry.delete_is_open = false;
      note_ = std::move(refusal);  // our key is gone
      return {};
    }
  }
  return "cannot remove " + entry.key + ": it exists again, because another process writes it";
}

std::string EtcdSession::remove(HttpClient& client, TimePoint deadline) {
  Call const call{client, deadline};
  if (put_is_open_) {
    if (auto failed = revoke(client, deadline); !failed.empty()) {
      return failed;
    }
    put_is_open_ = false;
  }
  std::string first;
  for (auto& entry : entries_) {
    auto failed = remove(call, entry);
    if (first.empty()) {
      first = std::move(failed);
    }
  }
  return first;
}

std::string EtcdSession::revoke(HttpClient& client, TimePoint deadline) {
  auto answer = etcd_.ask({client, deadline}, "/v3/lease/revoke", etcd::lease_body(lease_));
  bool const is_gone = answer.ok || contains(answer.error, "lease not found");
  return is_gone ? std::string{} : std::move(answer.error);
}

}  // namespace lastcall::discovery
