#include "discovery/etcd_session.hpp"

#include <algorithm>
#include <utility>

#include "discovery/secret_file.hpp"

namespace lastcall::discovery {

namespace {

constexpr char const* kUnreadable = "an answer that is not etcd's";

/// Another server may do better: no leader, overloaded, restarting.
bool is_passing(int status) {
  return status == 0 || status >= 500;
}

/// etcd ends tokens after minutes, and all of them when users change.
bool is_refused_token(std::string_view message) {
  return message.find("invalid auth token") != std::string_view::npos ||
         message.find("revision of auth store is old") != std::string_view::npos ||
         message.find("user name is empty") != std::string_view::npos;
}

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
    : settings_(std::move(settings)),
      lease_(instances.empty() ? 0 : instances.front().id),
      lease_ttl_(settings_.lease_ttl) {
  for (auto const& instance : instances) {
    entries_.push_back(
        {etcd::instance_key(instance), etcd::instance_value(instance), instance.pod_uid});
  }
}

EtcdSession::Answer EtcdSession::ask(Call const& call, std::string const& path,
                                     std::string const& body) {
  std::size_t const count = settings_.servers.size();
  // A single one is asked twice: a connection can be dead while the server is not.
  std::size_t const tries = std::max<std::size_t>(2, count);
  std::size_t const first = server_;
  Answer answer;
  for (std::size_t i = 0; i < tries; ++i) {
    auto const now = TimePoint::clock::now();
    if (call.client.is_interrupted() || now >= call.deadline) {
      break;
    }
    auto const share = (call.deadline - now) / static_cast<std::int64_t>(tries - i);
    std::size_t const index = (first + i) % count;
    bool is_final = false;
    answer = ask_server({call.client, now + share}, settings_.servers[index], path, body, is_final);
    if (answer.ok || is_final) {
      server_ = index;
      return answer;
    }
  }
  if (answer.error.empty()) {
    answer.error = "no time left";
  }
  return answer;
}

EtcdSession::Answer EtcdSession::ask_server(Call const& call, HttpServer const& server,
                                            std::string const& path, std::string const& body,
                                            bool& is_final) {
  for (bool again = !settings_.user.empty();; again = false) {
    if (!settings_.user.empty() && token_.empty()) {
      if (auto failed = authenticate(call, server); !failed.empty()) {
        return {false, {}, std::move(failed)};
      }
    }
    HttpRequest request{.path = path, .headers = {}, .body = body};
    if (!token_.empty()) {
      request.headers.emplace_back("Authorization", token_);
    }
    auto reply = call.client.send(server, request, call.deadline);
    if (reply.status == 0) {
      return {false, {}, std::move(reply.error)};
    }
    if (reply.status == 200 && etcd::is_answer(reply.body)) {
      return {true, std::move(reply.body), {}};
    }
    auto const failure = etcd::parse_failure(reply.status, reply.body);
    if (again && is_refused_token(failure.message)) {
      token_.clear();
      continue;
    }
    is_final = failure.is_etcds && !is_passing(reply.status);
    return {false,
            {},
            to_text(server) + ": " + failure.message +
                (failure.is_etcds ? "" : std::string(", ") + kUnreadable)};
  }
}

std::string EtcdSession::authenticate(Call const& call, HttpServer const& server) {
  std::string password = settings_.password;
  if (!settings_.password_file.empty()) {
    auto const read = read_secret(settings_.password_file);
    if (!read) {
      return "cannot read a password from " + settings_.password_file;
    }
    password = *read;
  }
  auto const reply = call.client.send(server,
                                      {.path = "/v3/auth/authenticate",
                                       .headers = {},
                                       .body = etcd::authenticate_body(settings_.user, password)},
                                      call.deadline);
  if (reply.status == 0) {
    return reply.error;
  }
  auto token = etcd::parse_token(reply.body);
  if (reply.status != 200 || !token) {
    return to_text(server) + ": cannot authenticate as " + settings_.user + ": " +
           etcd::parse_failure(reply.status, reply.body).message;
  }
  token_ = std::move(*token);
  return {};
}

EtcdSession::Beat EtcdSession::keep_alive(HttpClient& client, TimePoint deadline) {
  auto const answer = ask({client, deadline}, "/v3/lease/keepalive", etcd::lease_body(lease_));
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
    auto const answer = ask({client, deadline}, "/v3/kv/range", etcd::range_body(entry.key));
    auto const found = answer.ok ? etcd::parse_range(answer.body) : std::nullopt;
    if (found && !found->exists) {
      beat = {true, entry.key + " is gone"};
    } else if (found && (found->value != entry.value || found->lease != lease_)) {
      beat = {true, entry.key + " is not as it was written"};
    }
  }
  return beat;
}

/// Grants the lease, or takes over the one of an earlier life.
std::string EtcdSession::hold_lease(Call const& call) {
  auto const body = etcd::grant_body(lease_, settings_.lease_ttl.count());
  for (bool again = true;; again = false) {
    auto const granted = ask(call, "/v3/lease/grant", body);
    if (granted.ok) {
      lease_ttl_ = settings_.lease_ttl;
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
  // First as if there was none, then over what was found there.
  for (bool again = true;; again = false) {
    put_is_open_ = true;
    auto const answer =
        ask(call, "/v3/kv/txn", etcd::put_body(entry.key, entry.value, lease_, entry.revision));
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
      entry.delete_is_open = false;  // it would find another revision
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
      return "cannot write " + entry.key + ": somebody else does";
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

/// Deletes, and looks again until it is gone.
std::string EtcdSession::remove(Call const& call, Entry& entry) {
  for (int i = 0; i < 3; ++i) {
    if (entry.revision != 0) {
      entry.delete_is_open = true;
      auto const deleted = ask(call, "/v3/kv/txn", etcd::delete_body(entry.key, entry.revision));
      if (!deleted.ok) {
        return deleted.error;
      }
    }
    auto const answer = ask(call, "/v3/kv/range", etcd::range_body(entry.key));
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
      return refusal;
    }
  }
  return "cannot remove " + entry.key + ": it is there again, somebody else writes it";
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
  auto answer = ask({client, deadline}, "/v3/lease/revoke", etcd::lease_body(lease_));
  bool const is_gone = answer.ok || contains(answer.error, "lease not found");
  return is_gone ? std::string{} : std::move(answer.error);
}

}  // namespace lastcall::discovery
