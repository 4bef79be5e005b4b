#include "ingress/tls_client.hpp"

#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "config/text.hpp"
#include "ingress/tls_files.hpp"

namespace lastcall::ingress {
namespace {

/// Sets the peer that is expected. Only names are sent before the handshake: RFC 6066, 3.
bool expect(SSL* session, std::string const& name) {
  if (config::is_ip_literal(name)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1;
  }
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(session, name.c_str()) == 1 &&
         SSL_set_tlsext_host_name(session, name.c_str()) == 1;
}

}  // namespace

struct TlsClientContext::Library {
  std::unique_ptr<SSL_CTX, tls::Free> context{SSL_CTX_new(TLS_client_method())};

  TlsReading read(TlsClientSettings const& settings) {
    TlsReading result;
    ERR_clear_error();
    SSL_CTX* const made = context.get();
    if (made == nullptr || SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_alpn_protos(made, tls::kProtocols.data(), tls::kProtocols.size()) != 0) {
      result.problem = "cannot use TLS: " + tls::LibraryErrors().text();
      return result;
    }
    tls::Files files(made);
    files.set_up();
    SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nullptr);
    if (!settings.authorities.empty()) {
      result.problem = files.read_authorities(settings.authorities);
    } else if (SSL_CTX_set_default_verify_paths(made) != 1) {
      result.problem = "cannot use the system's authorities: " + tls::LibraryErrors().text();
    }
    if (result.problem.empty() && !settings.certificate.empty()) {
      result.problem = files.read_certificate(settings.certificate);
      if (result.problem.empty()) {
        result.problem = files.read_key(settings.certificate, settings.key);
      }
      result.warning = result.problem.empty() ? files.validity(settings.certificate) : "";
    }
    SSL_CTX_set_default_passwd_cb_userdata(made, nullptr);  // no file is read from now on
    SSL_CTX_set_default_passwd_cb(made, nullptr);
    return result;
  }
};

TlsClientContext::TlsClientContext(TlsClientSettings settings, TlsContext::OnReload on_reload)
    : settings_(std::move(settings)),
      on_reload_(std::move(on_reload)),
      files_({settings_.authorities, settings_.certificate, settings_.key}) {}

TlsClientContext::~TlsClientContext() = default;

TlsReading TlsClientContext::load() {
  files_.read_now();
  return tls::replace_if_usable(library_, settings_);
}

std::unique_ptr<TlsSession> TlsClientContext::connect(Socket const& socket,
                                                      std::string const& name) {
  files_.follow([this] { return load(); }, on_reload_);
  auto session = std::make_unique<TlsSession::Library>();
  session->session.reset(SSL_new(library_->context.get()));
  if (!session->session || SSL_set_fd(session->session.get(), socket.get()) != 1 ||
      !expect(session->session.get(), name)) {
    return nullptr;
  }
  SSL_set_connect_state(session->session.get());
  return std::make_unique<TlsSession>(std::move(session));
}

}  // namespace lastcall::ingress
