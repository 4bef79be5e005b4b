// The parts of OpenSSL that both sides of TLS need: reading files, with a text that describes what
// is wrong with them, and freeing the library's objects.
//
// Thread rule: none. Source: SSL_CTX_use_certificate(3), SSL_CTX_load_verify_locations(3).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingress/tls.hpp"

struct ssl_ctx_st;
struct ssl_st;
struct x509_st;
struct stack_st_GENERAL_NAME;

namespace lastcall::ingress {

namespace tls {

inline constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

struct Free {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* session) const;
  void operator()(x509_st* certificate) const;
  void operator()(stack_st_GENERAL_NAME* names) const;
};

/// The library's account of a failure. The root cause comes first: later entries only name the
/// callers that passed it on.
class LibraryErrors {
 public:
  LibraryErrors();
  bool has(int library, int reason) const;
  std::string text() const;

 private:
  std::vector<unsigned long> errors_;
};

/// Reads files for a context. Each call returns the problem, if there is one.
class Files {
 public:
  /// `context` outlives it.
  explicit Files(ssl_ctx_st* context) : context_(context) {}

  /// The settings that both sides share; none of them asks a terminal for a passphrase.
  void set_up();
  std::string read_certificate(std::string const& path);
  std::string read_key(std::string const& certificate, std::string const& path);
  /// Sets the authorities of the other side's certificate.
  std::string read_authorities(std::string const& path);
  /// Returns the reason why the other side will refuse the certificate, if it will: the operator
  /// who has to replace it should be notified on this side.
  std::string validity(std::string const& path) const;
  /// The time at which the certificate expires, in seconds since 1970; 0 if unknown.
  std::int64_t end() const;

 private:
  ssl_ctx_st* const context_;
  bool asked_for_passphrase_ = false;
};

/// Reads the files of `settings` into a new `Library`, which replaces the one in use if they can be
/// used.
template <class Library, class Settings>
TlsReading replace_if_usable(std::unique_ptr<Library>& in_use, Settings const& settings) {
  auto read = std::make_unique<Library>();
  TlsReading result = read->read(settings);
  if (result.problem.empty()) {
    in_use = std::move(read);
  }
  return result;
}

}  // namespace tls

struct TlsSession::Library {
  std::unique_ptr<ssl_st, tls::Free> session;
};

}  // namespace lastcall::ingress
