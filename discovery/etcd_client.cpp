#include "discovery/etcd_client.hpp"

#include <algorithm>
#include <utility>

#include "discovery/etcd_wire.hpp"
#include "discovery/secret_file.hpp"

namespace lastcall::discovery {

namespace {

/// Whether another server may do better: this one has no leader, is overloaded or restarts.
bool is_passing(int status) {
  return status == 0 || status >= 500;
}

constexpr int kTooManyRequests = 429;

/// Whether the token was refused: etcd expires tokens after minutes, and all when users change. A
/// request without a token is refused once users are turned on.
bool is_refused_token(std::string_view message) {
  return message.find("invalid auth token") != std::string_view::npos ||
         message.find("revision of auth store is old") != std::string_view::npos ||
         message.find("user name is empty") != std::string_view::npos;
}

bool has_no_users(std::string_view message) {
  return message.find("authentication is not enabled") != std::string_view::npos;
}

}  // namespace

EtcdClient::Answer EtcdClient::ask(Call const& call, std::string const& path,
                                   std::string const& body) {
  std::size_t const count = access_.servers.size();
  // A single server is asked twice: a connection can be dead while the server is not.
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
    answer = ask_server({call.client, now + share}, access_.servers[index], path, body, is_final);
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

std::vector<std::pair<std::string, std::string>> EtcdClient::headers() const {
  if (token_.empty()) {
    return {};
  }
  return {{"Authorization", token_}};
}

std::string EtcdClient::follow(Call const& call, std::string const& path, std::string const& body,
                               std::function<bool(std::string_view)> on_data) {
  HttpServer const& server = access_.servers[server_];
  HttpRequest request{
      .path = path, .headers = headers(), .body = body, .on_data = std::move(on_data)};
  request.headers.emplace_back("Grpc-Metadata-hasleader", "true");
  auto const reply = call.client.send(server, request, call.deadline);
  if (reply.status == 200) {
    return {};
  }
  return reply.status == 0 ? reply.error
                           : to_text(server) + ": HTTP status " + std::to_string(reply.status);
}

EtcdClient::Answer EtcdClient::ask_server(Call const& call, HttpServer const& server,
                                          std::string const& path, std::string const& body,
                                          bool& is_final) {
  for (bool again = !access_.user.empty();; again = false) {
    if (!access_.user.empty() && token_.empty() && !is_open_) {
      if (auto failed = authenticate(call, server, is_final); !failed.empty()) {
        return {false, {}, std::move(failed)};
      }
    }
    HttpRequest request{.path = path, .headers = headers(), .body = body};
    auto reply = call.client.send(server, request, call.deadline);
    if (reply.status == 0) {
      is_final = reply.is_too_long;
      return {false, {}, std::move(reply.error), reply.is_too_long};
    }
    if (reply.status == 200 && etcd::is_answer(reply.body)) {
      return {true, std::move(reply.body), {}};
    }
    auto const failure = etcd::parse_failure(reply.status, reply.body);
    if (again && is_refused_token(failure.message)) {
      token_.clear();
      is_open_ = false;
      continue;
    }
    is_final = this->is_final(call, reply.status, failure.is_etcds);
    return {false,
            {},
            to_text(server) + ": " + failure.message +
                (failure.is_etcds ? "" : std::string(", ") + kUnreadable)};
  }
}

/// A gateway in front of etcd refuses in words of its own, and may ask for time.
bool EtcdClient::is_final(Call const& call, int status, bool is_etcds) const {
  bool const wants_time =
      status == kTooManyRequests || call.client.retry_after() > Duration::zero();
  return (is_etcds && !is_passing(status)) || (access_.servers.size() == 1 && wants_time);
}

std::string EtcdClient::authenticate(Call const& call, HttpServer const& server, bool& is_final) {
  std::string password = access_.password;
  if (auto failed = read_password(access_.password_file, password); !failed.empty()) {
    return failed;
  }
  auto const reply = call.client.send(server,
                                      {.path = "/v3/auth/authenticate",
                                       .headers = {},
                                       .body = etcd::authenticate_body(access_.user, password)},
                                      call.deadline);
  if (reply.status == 0) {
    return reply.error;
  }
  auto token = etcd::parse_token(reply.body);
  if (reply.status == 200 && token) {
    token_ = std::move(*token);
    return {};
  }
  auto const failure = etcd::parse_failure(reply.status, reply.body);
  is_open_ = has_no_users(failure.message);
  if (is_open_) {
    return {};
  }
  // Another member may know a newer password, or be no learner.
  is_final = access_.servers.size() == 1 && this->is_final(call, reply.status, failure.is_etcds);
  return to_text(server) + ": cannot authenticate as " + access_.user + ": " + failure.message;
}

}  // namespace lastcall::discovery
