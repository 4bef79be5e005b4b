#include "supervisor/kube/key_pair.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "supervisor/kube/openssl_handles.hpp"

namespace lastcall::kube {
namespace {

using openssl::Certificate;
using openssl::certificates_of;
using openssl::Key;
using openssl::seconds_of;
using std::chrono::seconds;

constexpr std::size_t kMostRead = 16;

struct FreeVerification {
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};

std::int64_t made_at(X509 const* certificate) {
  return seconds_of(X509_get0_notBefore(certificate));
}

std::int64_t ends_at(X509 const* certificate) {
  return seconds_of(X509_get0_notAfter(certificate));
}

Certificate certificate_of(KeyPair const& pair) {
  auto found = certificates_of(pair.certificate, 1);
  return found.empty() ? nullptr : std::move(found.front());
}

bool has_signed(X509* authority, X509* certificate) {
  return X509_check_issued(authority, certificate) == X509_V_OK &&
         X509_verify(certificate, X509_get0_pubkey(authority)) == 1;
}

}  // namespace

std::string why_refused(KeyPair const& pair, std::string const& name, std::int64_t now) {
  Certificate const certificate = certificate_of(pair);
  Key const key = openssl::key_of(pair.key);
  if (!certificate || !key || X509_check_private_key(certificate.get(), key.get()) != 1) {
    return "there is no certificate in PEM with the key that belongs to it";
  }
  std::unique_ptr<X509_STORE, FreeVerification> const store(X509_STORE_new());
  std::unique_ptr<X509_STORE_CTX, FreeVerification> const context(X509_STORE_CTX_new());
  bool is_set = store && context;
  for (Certificate const& authority : certificates_of(pair.authorities, kMostRead)) {
    is_set = is_set && X509_STORE_add_cert(store.get(), authority.get()) == 1;
  }
  if (!is_set || X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER) != 1) {
    return "it cannot be verified";
  }
  X509_VERIFY_PARAM* const rules = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(rules, now);
  if (X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size()) != 1) {
    return "it cannot be verified";
  }
  return X509_verify_cert(context.get()) == 1
             ? ""
             : X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

bool is_near_end(KeyPair const& pair, std::int64_t now) {
  Certificate const certificate = certificate_of(pair);
  return !certificate || ends_at(certificate.get()) - seconds(kRenewBefore).count() <= now;
}

std::string authorities_of(KeyPair const& pair, std::string const& before, std::int64_t now) {
  Certificate const certificate = certificate_of(pair);
  if (!certificate) {
    return {};
  }
  bool const is_changing = now < made_at(certificate.get()) + seconds(kOverlap).count();
  std::vector<std::string> kept;
  for (std::string const& list : {pair.authorities, before}) {
    for (Certificate const& one : certificates_of(list, kMostRead)) {
      std::string pem = openssl::pem_of(one.get());
      if (std::find(kept.begin(), kept.end(), pem) != kept.end()) {
        continue;
      }
      if (has_signed(one.get(), certificate.get())) {
        kept.insert(kept.begin(), std::move(pem));
      } else if (is_changing && now < ends_at(one.get())) {
        kept.push_back(std::move(pem));
      }
    }
  }
  kept.resize(std::min(kept.size(), kMostAuthorities));
  std::string all;
  for (std::string const& pem : kept) {
    all += pem;
  }
  return all;
}

}  // namespace lastcall::kube
