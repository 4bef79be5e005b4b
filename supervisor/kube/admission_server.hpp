// The webhook's port: TLS, HTTP/1.1, one request per connection, on one thread.
//
// Invariants:
//  1. A connection has kPatience in total, from its start to the last byte of its answer, and a
//     head and a body of bounded size: a slow client costs one descriptor for that long and delays
//     no other.
//  2. At most kConnections are open; for a new one, the one that has been reading for longest is
//     closed.
//  3. There is one request per connection: API servers keep connections to a webhook for minutes,
//     and if one is closed while it is idle, their next request on it may fail.
//  4. At its end, clients that have already connected are answered, and no others.
//  5. The certificate follows its files (ingress/tls.hpp), even while no client connects.
//
// Thread rule: the owner's thread; run() blocks it until `stop` is readable and all clients have
// been answered. Source: RFC 9112; Kubernetes' admission webhooks, whose requests have a
// Content-Length.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ingress/socket.hpp"
#include "ingress/tls.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::kube {

struct AdmissionRequest {
  std::string method;
  std::string path;
  std::string_view body;
};

struct AdmissionReply {
  int status = 200;
  std::string body;  // JSON
};

class AdmissionServer {
 public:
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::seconds kTick{2};
  static constexpr std::size_t kConnections = 32;
  /// API servers accept objects of up to 3 MiB.
  static constexpr std::size_t kLongestBody = std::size_t{4} * 1024 * 1024;

  struct Listeners {
    std::function<AdmissionReply(AdmissionRequest const&)> answer;
    std::function<void(ingress::TlsFailure const&)> tls_failed;
    std::function<void()> ending;  // called once, when `stop` is readable
    std::function<void()> tick;    // called in each turn, at least every kTick
  };

  AdmissionServer(ingress::Socket listening, std::unique_ptr<ingress::TlsContext> tls,
                  Listeners listeners);
  ~AdmissionServer();
  AdmissionServer(AdmissionServer const&) = delete;
  AdmissionServer& operator=(AdmissionServer const&) = delete;

  void run(int stop);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { reading, writing, lingering, done };
  struct Connection;

  bool wait(int stop);
  void begin_end();
  void accept();
  void advance(Connection& connection);
  void read(Connection& connection);
  void take(Connection& connection);
  void answer(Connection& connection, AdmissionReply const& reply);
  void write(Connection& connection);
  void linger(Connection& connection);

  ingress::Socket listening_;
  std::unique_ptr<ingress::TlsContext> tls_;
  Listeners const listeners_;
  std::list<Connection> connections_;  // the oldest first
  bool is_ending_ = false;
};

}  // namespace lastcall::kube
