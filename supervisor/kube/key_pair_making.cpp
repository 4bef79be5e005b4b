// Makes a new authority and the certificate that it signs; then the authority's key is dropped.
#include <array>
#include <cstddef>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "supervisor/kube/key_pair.hpp"
#include "supervisor/kube/openssl_handles.hpp"

namespace lastcall::kube {
namespace {

using openssl::Certificate;
using openssl::Key;
using std::chrono::seconds;

constexpr seconds kSkew = std::chrono::hours(1);  // how far another clock may be behind ours
constexpr int kVersion3 = 2;

struct FreeExtension {
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};

struct Extension {
  int id;
  std::string value;
};

/// Sets a random serial number that is positive and has less than 20 bytes.
bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) {
    return false;
  }
  bytes.front() &= 0x7fU;
  bytes.front() |= 0x40U;
  return ASN1_STRING_set(X509_get_serialNumber(certificate), bytes.data(), bytes.size()) == 1;
}

/// Makes it valid from now on (seconds since 1970) for kLifetime.
bool set_dates(X509* certificate, std::int64_t now) {
  std::time_t const from = now - kSkew.count();
  std::time_t const to = now + seconds(kLifetime).count();
  return ASN1_TIME_set(X509_getm_notBefore(certificate), from) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), to) != nullptr;
}

bool set_name(X509* certificate, std::string const& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<unsigned char const*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool extend(X509* certificate, X509* issuer, std::vector<Extension> const& extensions) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (Extension const& each : extensions) {
    std::unique_ptr<X509_EXTENSION, FreeExtension> const made(
        X509V3_EXT_conf_nid(nullptr, &context, each.id, each.value.c_str()));
    if (!made || X509_add_ext(certificate, made.get(), -1) != 1) {
      return false;
    }
  }
  return true;
}

/// Makes a certificate signed by `issuer` with `signer`; without an issuer it is self-signed.
Certificate make(EVP_PKEY* key, std::string const& name, X509* issuer, EVP_PKEY* signer,
                 std::vector<Extension> const& extensions, std::int64_t now) {
  Certificate made(X509_new());
  X509* const certificate = made.get();
  X509* const by = issuer == nullptr ? certificate : issuer;
  bool const is_made =
      certificate != nullptr && X509_set_version(certificate, kVersion3) == 1 &&
      set_serial(certificate) && set_dates(certificate, now) && set_name(certificate, name) &&
      X509_set_issuer_name(certificate, X509_get_subject_name(by)) == 1 &&
      X509_set_pubkey(certificate, key) == 1 && extend(certificate, by, extensions) &&
      X509_sign(certificate, signer, EVP_sha256()) != 0;
  return is_made ? std::move(made) : nullptr;
}

}  // namespace

std::optional<KeyPair> make_key_pair(std::vector<std::string> const& names, std::int64_t now) {
  Key const authority_key(EVP_EC_gen("P-256"));
  Key const key(EVP_EC_gen("P-256"));
  if (!authority_key || !key) {
    return std::nullopt;
  }
  // The names of authorities differ, so that a client that trusts several finds the right one.
  std::array<unsigned char, 4> mark{};
  if (RAND_bytes(mark.data(), mark.size()) != 1) {
    return std::nullopt;
  }
  std::string name = "lastcall webhook ";
  for (unsigned char const byte : mark) {
    constexpr std::string_view kHex = "0123456789abcdef";
    name += {kHex[byte >> 4U], kHex[byte & 15U]};
  }
  Certificate const authority = make(authority_key.get(), name, nullptr, authority_key.get(),
                                     {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                      {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                      {NID_subject_key_identifier, "hash"}},
                                     now);
  std::string alternatives;
  for (std::string const& each : names) {
    alternatives += (alternatives.empty() ? "DNS:" : ",DNS:") + each;
  }
  Certificate const certificate =
      !authority ? nullptr
                 : make(key.get(), "lastcall webhook", authority.get(), authority_key.get(),
                        {{NID_basic_constraints, "critical,CA:FALSE"},
                         {NID_key_usage, "critical,digitalSignature"},
                         {NID_ext_key_usage, "serverAuth"},
                         {NID_subject_key_identifier, "hash"},
                         {NID_authority_key_identifier, "keyid:always"},
                         {NID_subject_alt_name, alternatives}},
                        now);
  if (!certificate) {
    return std::nullopt;
  }
  KeyPair pair{.certificate = openssl::pem_of(certificate.get()),
               .key = openssl::pem_of(key.get()),
               .authorities = openssl::pem_of(authority.get())};
  bool const is_whole = !pair.certificate.empty() && !pair.key.empty() && !pair.authorities.empty();
  return is_whole ? std::optional(std::move(pair)) : std::nullopt;
}

}  // namespace lastcall::kube
