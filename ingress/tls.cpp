#include "ingress/tls.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "ingress/poller.hpp"

namespace lastcall::ingress {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1'000};
constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

/// The library's last word on what failed.
std::string reason() {
  char const* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text == nullptr ? "not readable" : text;
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
int no_passphrase(char*, int, int, void*) {
  return -1;
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
  bool const has_just_left = why == SSL_R_UNEXPECTED_EOF_WHILE_READING && is_established();
  return {has_just_left ? Io::ended : Io::broken, 0};
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

// --- the certificate -----------------------------------------------------------------------------

struct TlsContext::Library {
  std::unique_ptr<SSL_CTX, Free> context{SSL_CTX_new(TLS_server_method())};

  /// Why the pair cannot be used; empty: it is in use now.
  std::string read(TlsFiles const& files) {
    SSL_CTX* const made = context.get();
    if (made == nullptr) {
      return "cannot use TLS: " + reason();
    }
    SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
    SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);  // tickets need no memory of ours
    SSL_CTX_set_alpn_select_cb(made, choose_protocol, nullptr);
    SSL_CTX_set_default_passwd_cb(made, no_passphrase);
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(made, files.certificate.c_str()) != 1) {
      return "cannot use the certificate in " + files.certificate + ": " + reason();
    }
    if (SSL_CTX_use_PrivateKey_file(made, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      return "cannot use the key in " + files.key + ": " + reason();
    }
    return {};
  }
};

/// Symbolic links are followed: what a volume of Kubernetes switches is seen as another file.
struct TlsContext::Stamp {
  explicit Stamp(TlsFiles const& files) : certificate(of(files.certificate)), key(of(files.key)) {}

  using File = std::array<std::uint64_t, 5>;
  static File of(std::string const& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) {
      return {};
    }
    return {found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
            static_cast<std::uint64_t>(found.st_mtim.tv_sec),
            static_cast<std::uint64_t>(found.st_mtim.tv_nsec)};
  }
  friend bool operator==(Stamp const&, Stamp const&) = default;

  File certificate;
  File key;
};

TlsContext::TlsContext(TlsFiles files, OnReload on_reload)
    : files_(std::move(files)), on_reload_(std::move(on_reload)) {}

TlsContext::~TlsContext() = default;

std::string TlsContext::load() {
  stamp_ = std::make_unique<Stamp>(files_);  // first: what changes from now on is seen
  looked_at_ = monotonic_now();
  auto read = std::make_unique<Library>();
  std::string problem = read->read(files_);
  if (problem.empty()) {
    library_ = std::move(read);
  }
  return problem;
}

void TlsContext::follow_files() {
  std::chrono::milliseconds const now = monotonic_now();
  if (now - looked_at_ < kBetweenLooks) {
    return;
  }
  looked_at_ = now;
  if (!(Stamp(files_) == *stamp_)) {
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
