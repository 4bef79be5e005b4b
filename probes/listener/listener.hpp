// A small HTTP/1.1 listener for probes, metrics and lifecycle hooks.
//
// The relay's parser reads the requests (http_exchange.hpp); sockets, deadlines and limits are
// ours, too. A general server library would spend a thread on every connection, restart its read
// timeout with every byte, or buffer headers and chunked bodies without a bound.
//
// Invariants:
//  1. There is one thread, whatever the clients do, and no wake-up while no client connects.
//  2. A request head has at most `head_timeout` in total and `kMaxHead` bytes; a client that sends
//     byte by byte costs one descriptor for that long and delays no other.
//  3. At most `max_connections` are open; for a new one, the oldest that still sends its head is
//     closed, else the oldest whose client does not take its answer. The bytes of all answers that
//     clients have not taken are bounded, too.
//  4. There is one request per connection (the kubelet does not keep probe connections either). A
//     request body is read only up to `max_body`, whole and within `head_timeout`.
//  5. A handler never blocks the thread: it answers at once, or keeps the Responder and answers
//     later from any thread. A caller that dies changes nothing for the handler.
//
// Thread rule: start and stop from the owner's thread; the handler runs on the listener's thread.
// Source: RFC 9112; the kubelet's probes (one connection per probe, 1 s by default).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/listener/caller.hpp"

namespace lastcall::probes {

struct Request {
  std::string method;
  std::string path;  // decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // empty where bodies are not read
  Caller caller;     // has the facts that ListenerSettings::callers asks for

  bool has_query(std::string_view name) const;
  /// The first header of that name, whatever its case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
};
/// `json` is one line, without its end.
inline Reply json_reply(int status, std::string json) {
  return {.status = status,
          .body = std::move(json) + "\n",
          .content_type = "application/json",
          .headers = {}};
}

/// The right to answer one request, once. Later answers are ignored; if the last copy goes away
/// without one, the client gets a 500. Copies share the right. Usable from any thread, also after
/// the listener has stopped (then nothing happens).
class Responder {
 public:
  struct Ticket;
  explicit Responder(std::shared_ptr<Ticket> ticket) : ticket_(std::move(ticket)) {}
  void send(Reply reply) const;

 private:
  std::shared_ptr<Ticket> ticket_;
};

/// The header in which a caller shows its token if one is required.
inline constexpr std::string_view kTokenHeader = "X-Lastcall-Token";

struct ListenerSettings {
  std::string host = "::";    // numeric; "::" takes IPv4 too and falls back to 0.0.0.0
  std::uint16_t port = 7090;  // 0: the kernel picks one, see HttpListener::port()
  std::string thread_name = "probes";
  std::chrono::milliseconds head_timeout{1'000};
  std::chrono::milliseconds write_timeout{1'000};
  std::size_t max_connections = 256;
  std::size_t max_body = 0;  // 0: bodies are not read
  CallerFacts callers = CallerFacts::none;
};

class HttpListener {
 public:
  using Handler = std::function<void(Request const&, Responder)>;

  HttpListener(ListenerSettings settings, Handler handler);
  ~HttpListener();
  HttpListener(HttpListener const&) = delete;
  HttpListener& operator=(HttpListener const&) = delete;

  /// Binds and begins to answer. On failure it returns what is wrong and where, and leaves nothing
  /// behind.
  std::optional<std::string> start();
  /// Closes the socket, finishes answers that are being sent (for at most `linger`), and ends the
  /// thread. It does not wait for idle or slow clients, and may be called twice.
  void stop(std::chrono::milliseconds linger = std::chrono::milliseconds{200});

  /// The address that it listens on, such as "[::]:7090"; valid after start().
  std::string address() const;
  std::uint16_t port() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace lastcall::probes
