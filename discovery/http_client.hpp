// A blocking HTTP client for one conversation at a time: what etcd, an API server and plain
// registration services are asked with.
//
// Invariants:
//  1. send() ends by its deadline, but for a server that drips its handshake or a record of TLS:
//     interrupt() at the deadline ends that one too. Where a name has several addresses each has
//     its share of the time to be connected.
//  2. The connection to the server asked last is kept. A kept one that turns out dead is replaced
//     once without notice: every request sent here may be repeated, until `on_data` has had some of
//     its answer.
//  3. Certificates and keys are read again for each new connection, so that they may be rotated.
//  4. An answer is never longer than kLongestAnswer, and its head and framing are the relay's to
//     judge: the library sees neither (answer_filter.hpp). Redirects are not followed.
//  5. interrupt() never blocks, whatever send() is in: a lookup, a connection that is made, a TLS
//     handshake. The library's own stop() waits for each of them.
//
// Thread rule: one thread sends; interrupt() and resume() may be called from any.
// Source: cpp-httplib 0.11, whose read timeout is one of each read, not of the call, and whose
// patterns recurse by the length of what they match; shutdown(2).
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

#include "discovery/lookup.hpp"
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

/// Reads a URL that the configuration has checked.
HttpServer server_at(std::string const& url);

/// "http://10.0.0.7:2379/path", for messages: without the query, which may hold a secret.
std::string to_text(HttpServer const& server);

/// Files; an empty name means the system's authorities, or no certificate of our own.
struct HttpTls {
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  bool is_verified = true;  // or any server is taken for the right one
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
  bool is_too_long = false;  // of an answer that is not taken: see kLongestAnswer
  bool was_begun = false;    // `on_data` has had some of it

  bool may_repeat() const { return status == 0 && !is_too_long && !was_begun; }
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
  struct Limits {
    TimePoint connected;
    TimePoint end;
  };
  struct Talk {  // of one request, with the connection
    TimePoint deadline;
    bool is_head = false;
    bool keeps_alive = false;
    bool is_malformed = false;
  };
  class Stream;
  template <typename Library>
  class Connection;

  void connect(HttpServer const& server, std::string const& address);
  void disconnect();
  void watch(int socket);
  HttpReply send_anew(HttpServer const& server, HttpRequest const& request, TimePoint deadline);
  HttpReply exchange(HttpServer const& server, HttpRequest const& request, Limits const& limits);

  HttpTls const tls_;
  Lookup lookup_;
  HttpServer server_;  // of the connection
  Talk talk_;
  std::unique_ptr<httplib::ClientImpl> connection_;
  std::mutex mutex_;  // of what interrupt() needs on another thread
  int socket_ = -1;   // of the connection
  std::atomic<bool> interrupted_ = false;
};

}  // namespace lastcall::discovery
