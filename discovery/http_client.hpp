// A blocking HTTP client for one conversation at a time: what etcd, an API server and plain
// registration services are asked with.
//
// Invariants:
//  1. send() ends by its deadline, but for the resolver, which has limits of its own, and for a
//     server that drips its answer: interrupt() at the deadline ends that one too.
//  2. The connection to the server asked last is kept. A kept one that turns out dead is replaced
//     once without anybody noticing: every request sent here may be repeated.
//  3. Certificates and keys are read again for each new connection, so that they may be rotated.
//  4. An answer is never longer than kLongestAnswer; redirects are not followed.
//
// Thread rule: one thread sends; interrupt() and resume() may be called from any.
// Source: cpp-httplib 0.11, whose read timeout is one of each read, not of the call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/registry.hpp"

namespace httplib {
class ClientImpl;
}

namespace lastcall::discovery {

struct HttpServer {
  bool tls = false;
  std::string host;
  std::uint16_t port = 0;
  std::string path;  // before that of each request; empty, or begins with a slash
  friend bool operator==(HttpServer const&, HttpServer const&) = default;
};

/// "http://10.0.0.7:2379", for messages.
std::string to_text(HttpServer const& server);

/// Files; an empty name means the system's authorities, or no certificate of our own.
struct HttpTls {
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
};

struct HttpRequest {
  std::string method = "POST";
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // JSON where it is not empty
  /// Takes the answer's body as it comes, instead of the reply; false ends the request.
  std::function<bool(std::string_view)> on_data = nullptr;
};

struct HttpReply {
  int status = 0;  // 0: no answer, see error
  std::string body;
  std::string error;
};

class HttpClient {
 public:
  static constexpr std::size_t kLongestAnswer = std::size_t{4} * 1024 * 1024;

  explicit HttpClient(HttpTls tls);
  ~HttpClient();
  HttpClient(HttpClient const&) = delete;
  HttpClient& operator=(HttpClient const&) = delete;

  HttpReply send(HttpServer const& server, HttpRequest const& request, TimePoint deadline);

  /// Ends the request under way, and every later one at once, until resume().
  void interrupt();
  void resume() { interrupted_ = false; }
  bool is_interrupted() const { return interrupted_; }

 private:
  using Connection = std::shared_ptr<httplib::ClientImpl>;

  Connection connect(HttpServer const& server);
  void disconnect();
  HttpReply exchange(httplib::ClientImpl& connection, HttpServer const& server,
                     HttpRequest const& request, TimePoint deadline);

  HttpTls const tls_;
  HttpServer server_;  // of the connection
  std::mutex mutex_;   // of the pointer: interrupt() needs it on another thread
  Connection connection_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace lastcall::discovery
