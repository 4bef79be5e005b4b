// How a server is chosen, and what its user is known by.
#include <algorithm>
#include <utility>

#include "discovery/etcd_session.hpp"
#include "discovery/secret_file.hpp"

namespace lastcall::discovery {

namespace {

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

}  // namespace

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
  if (auto failed = read_password(settings_.password_file, password); !failed.empty()) {
    return failed;
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

}  // namespace lastcall::discovery
