// Owning handles of OpenSSL's objects, and functions that read and write them as PEM. Only for the
// files of this folder.
//
// Thread rule: none. Source: PEM_read_bio_X509(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <openssl/evp.h>
#include <openssl/x509.h>

namespace lastcall::kube::openssl {

struct Free {
  void operator()(BIO* bytes) const { BIO_free(bytes); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

/// Reads the first certificates, at most `most`; text that is not PEM is skipped.
std::vector<Certificate> certificates_of(std::string const& pem, std::size_t most);
/// Empty if there is no key, or one with a passphrase.
Key key_of(std::string const& pem);
/// Empty if there is no memory for it.
std::string pem_of(X509* certificate);
std::string pem_of(EVP_PKEY* key);

/// Seconds since 1970; 0 if it is not a valid time.
std::int64_t seconds_of(ASN1_TIME const* time);

}  // namespace lastcall::kube::openssl
