// How etcd is asked: which of its servers, as which user.
//
// Invariants:
//  1. Servers are tried in turn, starting with the one that answered last; each has its share of
//     the time that is left. Only an answer that another server would repeat is final: one that
//     is no etcd's JSON never is, whatever its status.
//  2. A token that etcd does not take any more is asked for again, once a request.
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

/// Where etcd is, and as which user it is asked.
struct EtcdAccess {
  std::vector<HttpServer> servers;
  std::string user;           // empty: without authentication
  std::string password_file;  // empty: `password`
  std::string password;
};

class EtcdClient {
 public:
  static constexpr char const* kUnreadable = "the answer is not etcd's";

  struct Answer {
    bool ok = false;
    std::string body;
    std::string error;
  };
  struct Call {
    HttpClient& client;
    TimePoint deadline;
  };

  explicit EtcdClient(EtcdAccess access) : access_(std::move(access)) {}

  Answer ask(Call const& call, std::string const& path, std::string const& body);
  /// An answer that comes in parts, from the server that answered ask() last; false of `on_data`
  /// ends it. Returns why it broke, or an empty text; a member that has lost its leader ends it,
  /// too.
  std::string follow(Call const& call, std::string const& path, std::string const& body,
                     std::function<bool(std::string_view)> on_data);

 private:
  Answer ask_server(Call const& call, HttpServer const& server, std::string const& path,
                    std::string const& body, bool& is_final);
  std::string authenticate(Call const& call, HttpServer const& server);
  std::vector<std::pair<std::string, std::string>> headers() const;

  EtcdAccess const access_;
  std::size_t server_ = 0;  // that answered last
  std::string token_;       // of the user
};

}  // namespace lastcall::discovery
