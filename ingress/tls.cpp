#include "ingress/tls.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "ingress/tls_files.hpp"

namespace lastcall::ingress {
namespace {

/// The versions that clients may offer, the preferred one first. `curl --http1.0` offers nothing
/// but the second.
constexpr std::array<unsigned char, 18> kServed{8, 'h', 't', 't', 'p', '/', '1', '.', '1',
                                                8, 'h', 't', 't', 'p', '/', '1', '.', '0'};

int choose_protocol(SSL*, unsigned char const** out, unsigned char* out_size,
                    unsigned char const* offered, unsigned int offered_size, void*) {
  unsigned char* chosen = nullptr;
  int const found = SSL_select_next_proto(&chosen, out_size, kServed.data(), kServed.size(),
                                          offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

TlsFailure::Kind kind_of(int reason) {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    // The alerts of a client that does not accept the server's certificate.
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return TlsFailure::Kind::certificate;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SUITABLE_GROUPS:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return TlsFailure::Kind::protocol;
    default:
      return TlsFailure::Kind::other;
  }
}

std::string_view text_of(ASN1_STRING const* string) {
  return {reinterpret_cast<char const*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

/// The names in a certificate, of the kinds that `ingress.control_paths.certificates` compares.
std::vector<std::string> names_of(X509 const* certificate) {
  std::vector<std::string> names;
  std::unique_ptr<GENERAL_NAMES, tls::Free> const alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; alternatives && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    GENERAL_NAME const* const name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL) {
      names.emplace_back(text_of(name->d.ia5));  // all three kinds use the same member
    }
  }
  X509_NAME* const subject = X509_get_subject_name(certificate);
  int const at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (names.empty() && at >= 0) {
    names.emplace_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  return names;
}

}  // namespace

// --- a session -----------------------------------------------------------------------------------

TlsSession::TlsSession(std::unique_ptr<Library> library) : library_(std::move(library)) {}
TlsSession::~TlsSession() = default;

IoResult TlsSession::failed(int result) {
  switch (SSL_get_error(library_->session.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {Io::would_block, 0};
    case SSL_ERROR_ZERO_RETURN:
      return {Io::ended, 0};
    default:
      break;
  }
  int const why = ERR_GET_REASON(ERR_peek_last_error());
  is_plain_http_ = why == SSL_R_HTTP_REQUEST || why == SSL_R_HTTPS_PROXY_REQUEST;
  bool const is_end = why == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  bool const has_just_left = is_end && is_established();
  bool const is_protocol_error =
      ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_SSL;  // otherwise it is an error of the socket
  // With TLS 1.3 the connecting side learns only after the handshake that its certificate is
  // refused.
  bool const is_refusal = why >= SSL_AD_REASON_OFFSET && !SSL_is_server(library_->session.get());
  if (is_protocol_error && !is_end && !is_plain_http_ && (!is_established() || is_refusal)) {
    report_failure(why);
  }
  return {has_just_left ? Io::ended : Io::broken, 0};
}

void TlsSession::report_failure(int why) {
  char const* detail = ERR_reason_error_string(ERR_peek_last_error());
  long const verdict = SSL_get_verify_result(library_->session.get());
  if (why == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    detail = X509_verify_cert_error_string(verdict);
  }
  failure_ = TlsFailure{kind_of(why), detail == nullptr ? "unknown" : detail};
}

std::string_view TlsSession::peer_named(std::vector<std::string> const& names) const {
  SSL* const session = library_->session.get();
  std::unique_ptr<X509, tls::Free> const peer(names.empty() ? nullptr
                                                            : SSL_get1_peer_certificate(session));
  if (!peer || !is_established() || SSL_get_verify_result(session) != X509_V_OK) {
    return {};
  }
  std::vector<std::string> const held = names_of(peer.get());
  auto const found = std::find_first_of(names.begin(), names.end(), held.begin(), held.end());
  return found == names.end() ? std::string_view() : *found;
}

IoResult TlsSession::read(std::span<char> into) {
  ERR_clear_error();
  std::size_t got = 0;
  int const result = SSL_read_ex(library_->session.get(), into.data(), into.size(), &got);
  return result == 1 ? IoResult{Io::some, got} : failed(result);
}

/// Writes as much as the socket accepts, one record at a time.
IoResult TlsSession::write(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    ERR_clear_error();
    std::size_t put = 0;
    int const result =
        SSL_write_ex(library_->session.get(), bytes.data() + taken, bytes.size() - taken, &put);
    if (result != 1) {
      IoResult const why = failed(result);
      return {why.io == Io::would_block ? Io::some : Io::broken, taken};
    }
    taken += put;
  }
  return {Io::some, taken};
}

/// Returns the result that a read would have.
Io TlsSession::peek() {
  ERR_clear_error();
  char byte = 0;
  std::size_t got = 0;
  int const result = SSL_peek_ex(library_->session.get(), &byte, 1, &got);
  return result == 1 ? Io::some : failed(result).io;
}

bool TlsSession::has_ended() {
  Io const io = peek();
  return io == Io::ended || io == Io::broken;
}

bool TlsSession::is_quiet() {
  return peek() == Io::would_block;
}

Io TlsSession::greet() {
  ERR_clear_error();
  int const result = SSL_do_handshake(library_->session.get());
  return result == 1 ? Io::some : failed(result).io;
}

bool TlsSession::is_established() const {
  return SSL_is_init_finished(library_->session.get()) == 1;
}

void TlsSession::send_close_notify() {
  if (is_established()) {
    ERR_clear_error();
    SSL_shutdown(library_->session.get());
  }
}

// --- certificates and what may be spoken ---------------------------------------------------------

struct TlsContext::Library {
  std::unique_ptr<SSL_CTX, tls::Free> context{SSL_CTX_new(TLS_server_method())};

  TlsReading read(TlsSettings const& settings) {
    TlsReading result;
    if (!context) {
      result.problem = "cannot use TLS: " + tls::LibraryErrors().text();
      return result;
    }
    ERR_clear_error();
    files_.set_up();
    set_up();
    result.problem = choose_ciphers(settings);
    if (result.problem.empty()) {
      result.problem = files_.read_certificate(settings.certificate);
    }
    if (result.problem.empty()) {
      result.problem = files_.read_key(settings.certificate, settings.key);
    }
    if (result.problem.empty() && !settings.client_authorities.empty()) {
      result.problem = ask_clients(settings);
    }
    if (result.problem.empty()) {
      result.warning = files_.validity(settings.certificate);
      result.ends_at = files_.end();
    }
    return result;
  }

 private:
  void set_up() {
    SSL_CTX* const made = context.get();
    SSL_CTX_set_options(
        made, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_alpn_select_cb(made, choose_protocol, nullptr);
  }

  /// Sets both lists of the library: the one for TLS 1.2 and the one for TLS 1.3.
  std::string choose_ciphers(TlsSettings const& settings) {
    std::string older;
    std::string newer;
    for (std::string const& name : settings.ciphers) {
      std::string& list = name.starts_with("TLS_") ? newer : older;
      list.append(list.empty() ? "" : ":").append(name);
    }
    SSL_CTX* const made = context.get();
    bool const speaks_1_2 = !older.empty() && !settings.is_only_1_3;
    bool const is_set =
        SSL_CTX_set_min_proto_version(made, speaks_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_max_proto_version(made, newer.empty() ? TLS1_2_VERSION : TLS1_3_VERSION) == 1 &&
        (newer.empty() || SSL_CTX_set_ciphersuites(made, newer.c_str()) == 1) &&
        (older.empty() || SSL_CTX_set_cipher_list(made, older.c_str()) == 1);
    return is_set ? "" : "cannot use the ciphers: " + tls::LibraryErrors().text();
  }

  std::string ask_clients(TlsSettings const& settings) {
    SSL_CTX* const made = context.get();
    std::string const& path = settings.client_authorities;
    if (std::string problem = files_.read_authorities(path); !problem.empty()) {
      return problem;
    }
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(path.c_str());
    if (names == nullptr) {
      return "cannot use the authorities in " + path + ": " + tls::LibraryErrors().text();
    }
    SSL_CTX_set_client_CA_list(made, names);  // the context owns the names now
    SSL_CTX_set_verify(
        made,
        SSL_VERIFY_PEER | (settings.requires_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                                                : SSL_VERIFY_NONE),
        nullptr);
    SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(made, 0);
    return {};
  }

  tls::Files files_{context.get()};
};

TlsContext::TlsContext(TlsSettings settings, OnReload on_reload)
    : settings_(std::move(settings)),
      on_reload_(std::move(on_reload)),
      files_({settings_.certificate, settings_.key, settings_.client_authorities}) {}

TlsContext::~TlsContext() = default;

TlsReading TlsContext::load() {
  files_.read_now();
  return tls::replace_if_usable(library_, settings_);
}

void TlsContext::follow_files() {
  files_.follow([this] { return load(); }, on_reload_);
}

std::unique_ptr<TlsSession> TlsContext::accept(Socket const& socket) {
  follow_files();
  auto session = std::make_unique<TlsSession::Library>();
  session->session.reset(SSL_new(library_->context.get()));
  if (!session->session || SSL_set_fd(session->session.get(), socket.get()) != 1) {
    return nullptr;
  }
  SSL_set_accept_state(session->session.get());
  return std::make_unique<TlsSession>(std::move(session));
}

}  // namespace lastcall::ingress
