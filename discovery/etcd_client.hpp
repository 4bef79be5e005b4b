// Sends requests to etcd: chooses the server and authenticates as the user.
//
// Invariants:
//  1. Servers are tried in turn, starting with the one that answered last; each gets its share of
//     the time that is left. An answer is final only if another server would repeat it: one that is
//     not etcd's JSON never is, whatever its status. A single server that wants fewer requests is
//     not asked again at once.
//  2. If etcd no longer accepts the token, a new one is requested, once per request. While etcd's
//     authentication is not enabled, it is asked without a token until it refuses that, so that
//     authentication can be enabled and disabled while instances are registered.
//
// Thread rule: the thread of the registry's jobs. Source: etcd's API; etcd_wire.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/http_client.hpp"

namespace lastcall::discovery {

/// Where etcd is, and the user to authenticate as.
struct EtcdAccess {
  std::vector<HttpServer> servers;
  std::string user;           // empty: without authentication
  std::string password_file;  // empty: use `password`
  std::string password;
};

class EtcdClient {
 public:
  static constexpr char const* kUnreadable = "the answer is not from etcd";

  struct Answer {
    bool ok = false;
    std::string body;
    std::string error;
    bool is_too_long = false;  // it exceeds HttpClient::kLongestAnswer, and was not taken
  };
  struct Call {
    HttpClient& client;
    TimePoint deadline;
  };

  explicit EtcdClient(EtcdAccess access) : access_(std::move(access)) {}

  Answer ask(Call const& call, std::string const& path, std::string const& body);
  /// Reads a streamed answer from the server that answered ask() last, until `on_data` returns
  /// false or the member has lost its leader. Returns why the stream broke, or an empty text.
  std::string follow(Call const& call, std::string const& path, std::string const& body,
                     std::function<bool(std::string_view)> on_data);

 private:
  Answer ask_server(Call const& call, HttpServer const& server, std::string const& path,
                    std::string const& body, bool& is_final);
  std::string authenticate(Call const& call, HttpServer const& server, bool& is_final);
  bool is_final(Call const& call, int status, bool is_etcds) const;
  std::vector<std::pair<std::string, std::string>> headers() const;

  EtcdAccess const access_;
  std::size_t server_ = 0;  // the one that answered last
  std::string token_;       // the user's
  bool is_open_ = false;    // etcd wants no token
};

}  // namespace lastcall::discovery
