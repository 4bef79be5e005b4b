// TLS for outgoing connections, which the router makes to workers.
//
// Invariants:
//  1. TLS 1.2 or later, HTTP/1.1 only (ALPN). The other side's certificate must be signed by one of
//     the authorities, and be valid for the requested name or address.
//  2. Changed files are read before the next connection is made, at most once a second. Unusable
//     files are reported once, and the earlier ones stay in use.
//
// Thread rule: the thread of its connections. Source: RFC 8446; RFC 6125; SSL_set1_host(3),
// X509_VERIFY_PARAM_set1_ip_asc(3).
#pragma once

#include <memory>
#include <string>

#include "ingress/socket.hpp"
#include "ingress/tls.hpp"

namespace lastcall::ingress {

struct TlsClientSettings {
  std::string authorities;  // file, PEM; empty: the system's authorities
  std::string certificate;  // file, PEM; empty: none is presented
  std::string key;          // file, PEM
};

class TlsClientContext {
 public:
  TlsClientContext(TlsClientSettings settings, TlsContext::OnReload on_reload);
  ~TlsClientContext();
  TlsClientContext(TlsClientContext const&) = delete;
  TlsClientContext& operator=(TlsClientContext const&) = delete;

  TlsReading load();
  /// Absent if there is no memory for the session. `name` is a host's name, or an address.
  std::unique_ptr<TlsSession> connect(Socket const& socket, std::string const& name);

 private:
  struct Library;

  TlsClientSettings const settings_;
  TlsContext::OnReload const on_reload_;
  FollowedFiles files_;
  std::unique_ptr<Library> library_;
};

}  // namespace lastcall::ingress
