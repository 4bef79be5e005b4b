// TLS for the connections of clients: a certificate that follows its files, and one session each.
// tls_client.hpp has the side that connects.
//
// Invariants:
//  1. TLS 1.2 or later, HTTP/1.1 only (ALPN); renegotiation is refused.
//  2. Changed files are read before the next handshake, at most once a second. Unusable files are
//     reported once, and the earlier ones stay in use.
//  3. A session's calls behave like those of a plain socket: they never block, `ended` is the other
//     side's close_notify or end, and bytes that write() did not accept must be written again.
//  4. An idle session holds no buffers.
//  5. If clients present certificates, each connection presents one. No session is resumed, so a
//     client is not admitted after its authority was removed or its certificate has expired.
//
// Thread rule: the context on the loop's thread, a session on its client's thread (the library's
// reference counts are thread-safe). Source: RFC 8446; RFC 7301; SSL_read(3), SSL_CTX_set_mode(3);
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

#include "base/followed_files.hpp"
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
  /// Whether the client's close_notify has come, and nothing before it waits to be read.
  bool has_ended();
  /// Whether neither bytes nor an end wait to be read; what the library has for the other side is
  /// sent.
  bool is_quiet();
  /// Does the handshake as the connecting side; returns `some` once it is complete.
  Io greet();
  /// Whether the handshake failed because a request in plain HTTP came, so that an answer can be
  /// sent.
  bool is_plain_http() const { return is_plain_http_; }
  /// Whether the handshake is complete.
  bool is_established() const;
  /// Why the handshake failed; absent if it did not, or if the client just disconnected. On the
  /// connecting side this includes what the other side refuses after the handshake.
  std::optional<TlsFailure> const& failure() const { return failure_; }
  /// The first of `names` that the client's certificate has; empty if it has none. Names are DNS
  /// names, URIs and e-mail addresses, or the common name if it has none of these.
  std::string_view peer_named(std::vector<std::string> const& names) const;
  /// Sends close_notify if that is possible at once.
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
  std::string client_authorities;  // file, PEM; empty: no certificate is requested
  bool requires_client_certificate = true;
  bool is_only_1_3 = false;
  /// OpenSSL's names, in the order of preference; a version of TLS without a cipher is disabled.
  std::vector<std::string> ciphers;
};

/// The outcome of reading files.
struct TlsReading {
  std::string problem;  // empty if the files are in use; otherwise the file and the reason
  std::string warning;  // about files in use, such as an expired certificate
  /// The end of the certificate that was read, in seconds since 1970; 0 if unknown.
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
  /// Absent if there is no memory for the session.
  std::unique_ptr<TlsSession> accept(Socket const& socket);

 private:
  struct Library;

  TlsSettings const settings_;
  OnReload const on_reload_;
  FollowedFiles files_;
  std::unique_ptr<Library> library_;
};

}  // namespace lastcall::ingress
