#include "ingress/tls_files.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.hpp"

namespace lastcall::ingress::tls {
namespace {

/// Finds faults that the library would report as if the text were wrong; empty if it is a file with
/// content.
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

/// A key with a passphrase cannot be used, because nobody can be asked for it.
int no_passphrase(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

}  // namespace

void Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}
void Free::operator()(ssl_st* session) const {
  SSL_free(session);
}
void Free::operator()(x509_st* certificate) const {
  X509_free(certificate);
}
void Free::operator()(stack_st_GENERAL_NAME* names) const {
  GENERAL_NAMES_free(names);
}

LibraryErrors::LibraryErrors() {
  while (unsigned long const error = ERR_get_error()) {
    errors_.push_back(error);
  }
}

bool LibraryErrors::has(int library, int reason) const {
  return std::any_of(errors_.begin(), errors_.end(), [&](unsigned long error) {
    return ERR_GET_LIB(error) == library && ERR_GET_REASON(error) == reason;
  });
}

std::string LibraryErrors::text() const {
  unsigned long const error = errors_.empty() ? 0 : errors_.front();
  if (ERR_SYSTEM_ERROR(error)) {
    return error_text(static_cast<int>(ERR_GET_REASON(error)));
  }
  char const* const text = ERR_reason_error_string(error);
  return text == nullptr ? "not readable" : text;
}

void Files::set_up() {
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
  // Session tickets need no memory on this side, so there is no cache.
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  // Without this callback the library would ask the terminal.
  SSL_CTX_set_default_passwd_cb(context_, no_passphrase);
  SSL_CTX_set_default_passwd_cb_userdata(context_, &asked_for_passphrase_);
}

std::string Files::read_certificate(std::string const& path) {
  std::string why = problem_of_file(path);
  if (why.empty() && SSL_CTX_use_certificate_chain_file(context_, path.c_str()) != 1) {
    LibraryErrors const errors;
    why = errors.has(ERR_LIB_PEM, PEM_R_NO_START_LINE) ? "no certificate in PEM" : errors.text();
  }
  return why.empty() ? "" : "cannot use the certificate in " + path + ": " + why;
}

std::string Files::read_key(std::string const& certificate, std::string const& path) {
  std::string why = problem_of_file(path);
  if (why.empty() && SSL_CTX_use_PrivateKey_file(context_, path.c_str(), SSL_FILETYPE_PEM) != 1) {
    LibraryErrors const errors;
    if (asked_for_passphrase_) {
      why = "it has a passphrase, expected a key without one";
    } else if (errors.has(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH) ||
               errors.has(ERR_LIB_X509, X509_R_KEY_TYPE_MISMATCH)) {
      why = "it is not the key of the certificate in " + certificate;
    } else if (errors.has(ERR_LIB_PEM, PEM_R_NO_START_LINE) ||
               errors.has(ERR_LIB_OSSL_DECODER, ERR_R_UNSUPPORTED)) {
      why = "no private key in PEM";
    } else {
      why = errors.text();
    }
  }
  return why.empty() ? "" : "cannot use the key in " + path + ": " + why;
}

std::string Files::read_authorities(std::string const& path) {
  std::string why = problem_of_file(path);
  if (why.empty() && SSL_CTX_load_verify_file(context_, path.c_str()) != 1) {
    LibraryErrors const errors;
    bool const has_none = errors.has(ERR_LIB_X509, X509_R_NO_CERTIFICATE_OR_CRL_FOUND) ||
                          errors.has(ERR_LIB_PEM, PEM_R_NO_START_LINE);
    why = has_none ? "no certificate in PEM" : errors.text();
  }
  return why.empty() ? "" : "cannot use the authorities in " + path + ": " + why;
}

std::string Files::validity(std::string const& path) const {
  X509 const* const own = SSL_CTX_get0_certificate(context_);
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
    return "the certificate in " + path + " has expired";
  }
  return X509_cmp_current_time(X509_get0_notBefore(own)) > 0
             ? "the certificate in " + path + " is not valid yet"
             : "";
}

std::int64_t Files::end() const {
  std::tm parts{};
  ASN1_TIME const* const end = X509_get0_notAfter(SSL_CTX_get0_certificate(context_));
  return ASN1_TIME_to_tm(end, &parts) == 1 ? std::int64_t{::timegm(&parts)} : 0;
}

}  // namespace lastcall::ingress::tls
