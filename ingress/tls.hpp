// TLS for the connections of clients: a certificate that follows its files, and one session each.
//
// Invariants:
//  1. TLS 1.2 or later, HTTP/1.1 only (ALPN); renegotiation is refused.
//  2. A changed pair of files is read before the next client is greeted, at most once a second. One
//     that cannot be used is told once, and the pair before it stays.
//  3. A session's calls mean what those of a plain socket mean: they never block, `ended` is the
//     other side's close_notify or end, and what write() did not take has to be offered again.
//  4. An idle session holds no buffers.
//
// Thread rule: the context on the loop's thread, a session on that of its client (the library's own
// counts of references are safe). Source: RFC 8446; RFC 7301; SSL_read(3), SSL_CTX_set_mode(3).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/socket.hpp"

namespace lastcall::ingress {

class TlsSession {
 public:
  struct Library;
  explicit TlsSession(std::unique_ptr<Library> library);
  ~TlsSession();

  IoResult read(std::span<char> into);
  IoResult write(std::string_view bytes);
  /// The client's close_notify has come, and nothing before it waits to be read.
  bool has_ended();
  /// It broke because what came first is a request in plain HTTP: the socket is good for an answer.
  bool is_plain_http() const { return is_plain_http_; }
  /// What read() or write() did waits for room in the socket, or for bytes in it.
  bool is_established() const;
  /// Says close_notify where that is possible at once.
  void say_goodbye();

 private:
  IoResult failed(int result);

  std::unique_ptr<Library> library_;
  bool is_plain_http_ = false;
};

struct TlsFiles {
  std::string certificate;  // PEM, with its chain
  std::string key;
};

class TlsContext {
 public:
  /// What became of a pair that was read anew: empty, or why it cannot be used.
  using OnReload = std::function<void(std::string const& problem)>;

  TlsContext(TlsFiles files, OnReload on_reload);
  ~TlsContext();
  TlsContext(TlsContext const&) = delete;
  TlsContext& operator=(TlsContext const&) = delete;

  /// Reads the pair. Empty: it can be used; else why not.
  std::string load();
  /// Nothing when there is no memory for it.
  std::unique_ptr<TlsSession> accept(Socket const& socket);

 private:
  struct Library;
  struct Stamp;

  void follow_files();

  TlsFiles const files_;
  OnReload const on_reload_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Stamp> stamp_;  // of what was read last
  std::chrono::milliseconds looked_at_{};
};

}  // namespace lastcall::ingress
