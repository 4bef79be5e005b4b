// TLS for the connections of clients: a certificate that follows its files, and one session each.
// tls_client.hpp has the side that connects.
//
// Invariants:
//  1. TLS 1.2 or later, HTTP/1.1 only (ALPN); renegotiation is refused.
//  2. Changed files are read before the next client is greeted, at most once a second. Files that
//     cannot be used are reported once, and those that were read before them stay.
//  3. A session's calls mean what those of a plain socket mean: they never block, `ended` is the
//     other side's close_notify or end, and bytes that write() did not take have to be offered
//     again.
//  4. An idle session holds no buffers.
//  5. Where clients show certificates, each connection shows its own: no session is resumed, so
//     that an authority that was taken away, or a certificate that has expired, lets no client in.
//
// Thread rule: the context on the loop's thread, a session on that of its client (the library's own
// counts of references are safe). Source: RFC 8446; RFC 7301; SSL_read(3), SSL_CTX_set_mode(3);
// RFC 6125, 6.4.4, for the common name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingress/followed_files.hpp"
#include "ingress/socket.hpp"
#include "ingress/tls_failure.hpp"

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
  /// Neither bytes nor an end wait to be read; the library's output for the other side is taken.
  bool is_quiet();
  /// Greets as the side that begins: `some` once both know each other.
  Io greet();
  /// It broke because what came first is a request in plain HTTP: the socket is good for an answer.
  bool is_plain_http() const { return is_plain_http_; }
  /// A read() or write() waits for room in the socket, or for bytes in it.
  bool is_established() const;
  /// Why the greeting broke; nothing when it did not, or when the client just went away in it. For
  /// the side that began: also what the other has refused after it.
  std::optional<TlsFailure> const& failure() const { return failure_; }
  /// The first of `names` that the client's certificate has; empty when there is none. Names are
  /// those of DNS, URIs and e-mail addresses, or the common name where it has none of these.
  std::string_view peer_named(std::vector<std::string> const& names) const;
  /// Says close_notify where that is possible at once.
  void send_close_notify();

 private:
  IoResult failed(int result);
  Io peek();
  void report_failure(int why);

  std::unique_ptr<Library> library_;
  bool is_plain_http_ = false;
  std::optional<TlsFailure> failure_;
};

struct TlsSettings {
  std::string certificate;         // file, PEM, with its chain
  std::string key;                 // file, PEM
  std::string client_authorities;  // file, PEM; empty: clients are not asked for a certificate
  bool requires_client_certificate = true;
  bool is_only_1_3 = false;
  /// OpenSSL's names, the dearest first; a version of TLS without one of its own is not spoken.
  std::vector<std::string> ciphers;
};

/// The outcome of reading files.
struct TlsReading {
  std::string problem;  // empty: they are in use; else the file, and why it cannot be used
  std::string warning;  // of what is in use all the same, such as an expired certificate
  /// When the certificate that was read expires, in seconds since 1970; 0: unknown.
  std::int64_t ends_at = 0;
};

class TlsContext {
 public:
  using OnReload = std::function<void(TlsReading const& reading)>;

  TlsContext(TlsSettings settings, OnReload on_reload);
  ~TlsContext();
  TlsContext(TlsContext const&) = delete;
  TlsContext& operator=(TlsContext const&) = delete;

  TlsReading load();
  /// Reads files that have changed; accept() does so, too.
  void follow_files();
  /// Nothing when there is no memory for it.
  std::unique_ptr<TlsSession> accept(Socket const& socket);

 private:
  struct Library;

  TlsSettings const settings_;
  OnReload const on_reload_;
  FollowedFiles files_;
  std::unique_ptr<Library> library_;
};

}  // namespace lastcall::ingress
