#include "ingress/tls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.hpp"
#include "ingress/poller.hpp"

namespace lastcall::ingress {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1'000};
constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

/// What the library has said of a failure, the root first: later words only name who passed it on.
class Said {
 public:
  Said() {
    while (unsigned long const error = ERR_get_error()) {
      errors_.push_back(error);
    }
  }
  bool has(int library, int reason) const {
    return std::any_of(errors_.begin(), errors_.end(), [&](unsigned long error) {
      return ERR_GET_LIB(error) == library && ERR_GET_REASON(error) == reason;
    });
  }
  std::string text() const {
    unsigned long const error = errors_.empty() ? 0 : errors_.front();
    if (ERR_SYSTEM_ERROR(error)) {
      return error_text(static_cast<int>(ERR_GET_REASON(error)));
    }
    char const* const text = ERR_reason_error_string(error);
    return text == nullptr ? "not readable" : text;
  }

 private:
  std::vector<unsigned long> errors_;
};

/// What the library would tell of as if the text were wrong; empty: it is a file with bytes.
std::string problem_of_file(std::string const& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return error_text(errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return "not a regular file";
  }
  if (::access(path.c_str(), R_OK) != 0) {
    return error_text(errno);
  }
  return found.st_size == 0 ? "the file is empty" : "";
}

int choose_protocol(SSL*, unsigned char const** out, unsigned char* out_size,
                    unsigned char const* offered, unsigned int offered_size, void*) {
  unsigned char* chosen = nullptr;
  int const found = SSL_select_next_proto(&chosen, out_size, kProtocols.data(), kProtocols.size(),
                                          offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// A key with a passphrase is one that cannot be used: nobody is there to be asked.
int no_passphrase(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

TlsFailure::Kind kind_of(int reason) {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    // What a client says that does not accept ours.
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

/// The names of the kinds that `ingress.control_paths.certificates` compares.
std::vector<std::string> names_of(X509 const* certificate) {
  std::vector<std::string> names;
  std::unique_ptr<GENERAL_NAMES, Free> const alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; alternatives && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    GENERAL_NAME const* const name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL) {
      names.emplace_back(text_of(name->d.ia5));  // of all three it is the same member
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

struct TlsSession::Library {
  std::unique_ptr<SSL, Free> session;
};

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
  bool const is_said = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_SSL;  // else: of the socket
  if (is_said && !is_end && !is_plain_http_ && !is_established()) {
    tell_failure(why);
  }
  return {has_just_left ? Io::ended : Io::broken, 0};
}

void TlsSession::tell_failure(int why) {
  char const* detail = ERR_reason_error_string(ERR_peek_last_error());
  long const verdict = SSL_get_verify_result(library_->session.get());
  if (why == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    detail = X509_verify_cert_error_string(verdict);
  }
  failure_ = TlsFailure{kind_of(why), detail == nullptr ? "unknown" : detail};
}

std::string_view TlsSession::peer_named(std::vector<std::string> const& names) const {
  SSL* const session = library_->session.get();
  std::unique_ptr<X509, Free> const peer(names.empty() ? nullptr
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

/// As much as the socket takes: it takes a record at a time.
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

bool TlsSession::has_ended() {
  ERR_clear_error();
  char byte = 0;
  std::size_t got = 0;
  int const result = SSL_peek_ex(library_->session.get(), &byte, 1, &got);
  if (result == 1) {
    return false;
  }
  Io const io = failed(result).io;
  return io == Io::ended || io == Io::broken;
}

bool TlsSession::is_established() const {
  return SSL_is_init_finished(library_->session.get()) == 1;
}

void TlsSession::say_goodbye() {
  if (is_established()) {
    ERR_clear_error();
    SSL_shutdown(library_->session.get());
  }
}

// --- certificates and what may be spoken ---------------------------------------------------------

struct TlsContext::Library {
  std::unique_ptr<SSL_CTX, Free> context{SSL_CTX_new(TLS_server_method())};

  TlsReading read(TlsSettings const& settings) {
    TlsReading result;
    if (!context) {
      result.problem = "cannot use TLS: " + Said().text();
      return result;
    }
    ERR_clear_error();
    set_up();
    result.problem = choose_ciphers(settings);
    if (result.problem.empty()) {
      result.problem = read_certificate(settings.certificate);
    }
    if (result.problem.empty()) {
      result.problem = read_key(settings);
    }
    if (result.problem.empty() && !settings.client_authorities.empty()) {
      result.problem = ask_clients(settings);
    }
    if (result.problem.empty()) {
      result.warning = validity(settings.certificate);
    }
    return result;
  }

 private:
  void set_up() {
    SSL_CTX* const made = context.get();
    SSL_CTX_set_options(
        made, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);  // tickets need no memory of ours
    SSL_CTX_set_alpn_select_cb(made, choose_protocol, nullptr);
    SSL_CTX_set_default_passwd_cb(made, no_passphrase);  // of every file: else it asks the terminal
    SSL_CTX_set_default_passwd_cb_userdata(made, &asked_for_passphrase_);
  }

  /// The library has one list for TLS 1.2 and one for TLS 1.3.
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
    return is_set ? "" : "cannot use the ciphers: " + Said().text();
  }

  std::string read_certificate(std::string const& path) {
    std::string why = problem_of_file(path);
    if (why.empty() && SSL_CTX_use_certificate_chain_file(context.get(), path.c_str()) != 1) {
      Said const said;
      why = said.has(ERR_LIB_PEM, PEM_R_NO_START_LINE) ? "no certificate in PEM" : said.text();
    }
    return why.empty() ? "" : "cannot use the certificate in " + path + ": " + why;
  }

  std::string read_key(TlsSettings const& settings) {
    SSL_CTX* const made = context.get();
    std::string why = problem_of_file(settings.key);
    if (why.empty() &&
        SSL_CTX_use_PrivateKey_file(made, settings.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      Said const said;
      if (asked_for_passphrase_) {
        why = "it has a passphrase, expected a key without one";
      } else if (said.has(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH) ||
                 said.has(ERR_LIB_X509, X509_R_KEY_TYPE_MISMATCH)) {
        why = "it is not the key of the certificate in " + settings.certificate;
      } else if (said.has(ERR_LIB_PEM, PEM_R_NO_START_LINE) ||
                 said.has(ERR_LIB_OSSL_DECODER, ERR_R_UNSUPPORTED)) {
        why = "no private key in PEM";
      } else {
        why = said.text();
      }
    }
    return why.empty() ? "" : "cannot use the key in " + settings.key + ": " + why;
  }

  std::string ask_clients(TlsSettings const& settings) {
    SSL_CTX* const made = context.get();
    std::string const& path = settings.client_authorities;
    std::string why = problem_of_file(path);
    if (why.empty() && SSL_CTX_load_verify_file(made, path.c_str()) != 1) {
      Said const said;
      bool const has_none = said.has(ERR_LIB_X509, X509_R_NO_CERTIFICATE_OR_CRL_FOUND) ||
                            said.has(ERR_LIB_PEM, PEM_R_NO_START_LINE);
      why = has_none ? "no certificate in PEM" : said.text();
    }
    STACK_OF(X509_NAME)* const names =
        why.empty() ? SSL_load_client_CA_file(path.c_str()) : nullptr;
    if (why.empty() && names == nullptr) {
      why = Said().text();
    }
    if (!why.empty()) {
      return "cannot use the authorities in " + path + ": " + why;
    }
    SSL_CTX_set_client_CA_list(made, names);  // takes them over
    SSL_CTX_set_verify(
        made,
        SSL_VERIFY_PEER | (settings.requires_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                                                : SSL_VERIFY_NONE),
        nullptr);
    SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(made, 0);
    return {};
  }

  /// Clients refuse it; whoever has to replace it should not have to hear of it from them.
  std::string validity(std::string const& path) {
    X509 const* const own = SSL_CTX_get0_certificate(context.get());
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
      return "the certificate in " + path + " has expired";
    }
    return X509_cmp_current_time(X509_get0_notBefore(own)) > 0
               ? "the certificate in " + path + " is not valid yet"
               : "";
  }

  bool asked_for_passphrase_ = false;
};

/// Symbolic links are followed: what a volume of Kubernetes switches is seen as another file.
struct TlsContext::Stamp {
  explicit Stamp(TlsSettings const& settings)
      : certificate(of(settings.certificate)),
        key(of(settings.key)),
        authorities(of(settings.client_authorities)) {}

  using File = std::array<std::uint64_t, 5>;
  static File of(std::string const& path) {
    struct stat found {};
    if (path.empty() || ::stat(path.c_str(), &found) != 0) {
      return {};
    }
    return {found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
            static_cast<std::uint64_t>(found.st_mtim.tv_sec),
            static_cast<std::uint64_t>(found.st_mtim.tv_nsec)};
  }
  friend bool operator==(Stamp const&, Stamp const&) = default;

  File certificate;
  File key;
  File authorities;
};

TlsContext::TlsContext(TlsSettings settings, OnReload on_reload)
    : settings_(std::move(settings)), on_reload_(std::move(on_reload)) {}

TlsContext::~TlsContext() = default;

TlsReading TlsContext::load() {
  stamp_ = std::make_unique<Stamp>(settings_);  // first: what changes from now on is seen
  looked_at_ = monotonic_now();
  auto read = std::make_unique<Library>();
  TlsReading result = read->read(settings_);
  if (result.problem.empty()) {
    library_ = std::move(read);
  }
  return result;
}

void TlsContext::follow_files() {
  std::chrono::milliseconds const now = monotonic_now();
  if (now - looked_at_ < kBetweenLooks) {
    return;
  }
  looked_at_ = now;
  if (!(Stamp(settings_) == *stamp_)) {
    on_reload_(load());
  }
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
