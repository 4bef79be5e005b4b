// A blocking HTTP client for one request at a time, used for etcd, for a Kubernetes API server and
// for plain registration services.
//
// Invariants:
//  1. send() ends by its deadline, except if a server sends its handshake or a TLS record byte by
//     byte: then interrupt() at the deadline ends it. If a name has several addresses, each gets
//     its share of the time for connecting.
//  2. The connection to the last server is kept. If a kept connection turns out to be dead, it is
//     replaced once without notice: every request that is sent here may be repeated until `on_data`
//     has received some of its answer.
//  3. Certificates and keys are read again for each new connection, so that they may be rotated.
//  4. An answer is never longer than kLongestAnswer, and the relay's parser judges its head and
//     framing: the library sees neither (answer_filter.hpp). Redirects are not followed.
//  5. interrupt() never blocks, whatever send() is doing: a lookup, a connect, a TLS handshake. The
//     library's own stop() waits for each of them.
//
// Thread rule: one thread sends; interrupt() and resume() may be called from any.
// Source: cpp-httplib 0.11, whose read timeout applies to each read and not to the call, and whose
// patterns recurse as deep as their match is long; shutdown(2).
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
  std::string path;  // prefix of each request's path; empty, or begins with a slash
  friend bool operator==(HttpServer const&, HttpServer const&) = default;
};

/// Parses a URL that the configuration has checked.
HttpServer server_at(std::string const& url);

/// "http://10.0.0.7:2379/path", for messages: without the query, which may hold a secret.
std::string to_text(HttpServer const& server);

/// File names; an empty one means the system's authorities, or no certificate of our own.
struct HttpTls {
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  bool is_verified = true;  // false: any server is accepted
};

struct HttpRequest {
  std::string method = "POST";
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // JSON if it is not empty
  /// Receives the answer's body as it arrives, instead of the reply; false ends the request.
  std::function<bool(std::string_view)> on_data = nullptr;
  /// Without it the status is the whole answer, however long its body is and however it ends.
  bool needs_body = true;
};

struct HttpReply {
  int status = 0;  // 0: no answer, see error
  std::string body;
  std::string error;
  bool is_too_long = false;  // the answer exceeds kLongestAnswer and was not taken
  bool was_begun = false;    // `on_data` has received some of it

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

  /// Ends the current request, and every later one at once, until resume().
  void interrupt();
  void resume() {
    interrupted_ = false;
    retry_after_ = Duration{0};
  }
  bool is_interrupted() const { return interrupted_; }
  /// The longest `Retry-After` of the refusals since resume(); 0 if there was none.
  Duration retry_after() const { return retry_after_; }

 private:
  struct Limits {
    TimePoint connected;
    TimePoint end;
  };
  struct Talk {  // the state of one request on the connection
    TimePoint deadline;
    bool is_head = false;
    bool keeps_alive = false;
    bool is_malformed = false;
    Duration retry_after{0};
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
  HttpServer server_;  // the connection's
  Talk talk_;
  Duration retry_after_{0};
  std::unique_ptr<httplib::ClientImpl> connection_;
  std::mutex mutex_;  // guards what interrupt() uses on another thread
  int socket_ = -1;   // the connection's
  std::atomic<bool> interrupted_ = false;
};

}  // namespace lastcall::discovery
