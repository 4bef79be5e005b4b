#include "discovery/etcd_session.hpp"

#include <utility>

namespace lastcall::discovery {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

EtcdSession::EtcdSession(EtcdSettings settings, Instance const& instance)
    : etcd_(std::move(settings.access)),
      wanted_ttl_(settings.lease_ttl),
      lease_(instance.id),
      key_(etcd::instance_key(instance)),
      value_(etcd::instance_value(instance)),
      pod_uid_(instance.pod_uid),
      lease_ttl_(settings.lease_ttl) {}

/// Why the key must not be touched; empty if it is ours.
std::string EtcdSession::refuse_foreign(std::string_view value) const {
  auto const owner = etcd::owner_of(value);
  if (owner == pod_uid_) {
    return {};
  }
  return "cannot touch " + key_ + ": it belongs to " +
         (owner.empty() ? "somebody else" : "pod " + owner) + ", this one is " + pod_uid_;
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
  if (!beat.error.empty()) {
    return beat;
  }
  auto const answer = etcd_.ask({client, deadline}, "/v3/kv/range", etcd::range_body(key_));
  auto const found = answer.ok ? etcd::parse_range(answer.body) : std::nullopt;
  if (found && !found->exists) {
    return {true, key_ + " is gone"};
  }
  if (found && (found->value != value_ || found->lease != lease_)) {
    return {true, key_ + " is not as it was written"};
  }
  return beat;
}

/// Gets the lease: a new one, or the lease of an earlier life.
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

std::string EtcdSession::put(Call const& call) {
  // First on the condition that there is no key, then on the condition of what was found there.
  for (bool again = true;; again = false) {
    put_is_open_ = true;
    auto const answer =
        etcd_.ask(call, "/v3/kv/txn", etcd::put_body(key_, value_, lease_, revision_));
    if (!answer.ok) {
      return answer.error;
    }
    auto const done = etcd::parse_transaction(answer.body);
    if (!done) {
      return kUnreadable;
    }
    put_is_open_ = false;
    if (done->succeeded) {
      revision_ = done->revision;
      delete_is_open_ = false;  // an earlier delete would find another revision
      return {};
    }
    revision_ = done->found.revision;
    if (done->found.exists) {
      if (auto refusal = refuse_foreign(done->found.value); !refusal.empty()) {
        revision_ = 0;
        return refusal;
      }
      if (done->found.value == value_ && done->found.lease == lease_ && !delete_is_open_) {
        return {};
      }
    }
    if (!again) {
      return "cannot write " + key_ + ": another process writes it";
    }
  }
}

std::string EtcdSession::enter(HttpClient& client, TimePoint deadline) {
  Call const call{client, deadline};
  if (auto failed = hold_lease(call); !failed.empty()) {
    return failed;
  }
  return put(call);
}

/// Deletes the key and reads it again until it is gone.
std::string EtcdSession::remove_key(Call const& call) {
  for (int i = 0; i < 3; ++i) {
    if (revision_ != 0) {
      delete_is_open_ = true;
      auto const deleted = etcd_.ask(call, "/v3/kv/txn", etcd::delete_body(key_, revision_));
      if (!deleted.ok) {
        return deleted.error;
      }
    }
    auto const answer = etcd_.ask(call, "/v3/kv/range", etcd::range_body(key_));
    if (!answer.ok) {
      return answer.error;
    }
    auto const found = etcd::parse_range(answer.body);
    if (!found) {
      return kUnreadable;
    }
    revision_ = found->revision;
    if (!found->exists) {
      delete_is_open_ = false;
      return {};
    }
    if (auto refusal = refuse_foreign(found->value); !refusal.empty()) {
      revision_ = 0;
      delete_is_open_ = false;
      note_ = std::move(refusal);  // our key is gone
      return {};
    }
  }
  return "cannot remove " + key_ + ": it exists again, because another process writes it";
}

std::string EtcdSession::remove(HttpClient& client, TimePoint deadline) {
  Call const call{client, deadline};
  if (put_is_open_) {
    if (auto failed = revoke(client, deadline); !failed.empty()) {
      return failed;
    }
    put_is_open_ = false;
  }
  return remove_key(call);
}

std::string EtcdSession::revoke(HttpClient& client, TimePoint deadline) {
  auto answer = etcd_.ask({client, deadline}, "/v3/lease/revoke", etcd::lease_body(lease_));
  bool const is_gone = answer.ok || contains(answer.error, "lease not found");
  return is_gone ? std::string{} : std::move(answer.error);
}

}  // namespace lastcall::discovery
