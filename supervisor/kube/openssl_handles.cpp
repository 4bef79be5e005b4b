#include "supervisor/kube/openssl_handles.hpp"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>

namespace lastcall::kube::openssl {
namespace {

using Bytes = std::unique_ptr<BIO, Free>;

Bytes reading(std::string const& pem) {
  return Bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

/// `write` puts one object into a BIO.
template <class Write>
std::string written(Write write) {
  Bytes const bytes(BIO_new(BIO_s_mem()));
  if (!bytes || write(bytes.get()) != 1) {
    return {};
  }
  char* data = nullptr;
  long const size = BIO_get_mem_data(bytes.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

int no_passphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace

std::vector<Certificate> certificates_of(std::string const& pem, std::size_t most) {
  std::vector<Certificate> found;
  Bytes const bytes = reading(pem);
  while (bytes && found.size() < most) {
    Certificate one(PEM_read_bio_X509(bytes.get(), nullptr, no_passphrase, nullptr));
    if (!one) {
      break;
    }
    found.push_back(std::move(one));
  }
  ERR_clear_error();
  return found;
}

Key key_of(std::string const& pem) {
  Bytes const bytes = reading(pem);
  Key key(bytes ? PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_passphrase, nullptr) : nullptr);
  ERR_clear_error();
  return key;
}

std::string pem_of(X509* certificate) {
  return written([&](BIO* bytes) { return PEM_write_bio_X509(bytes, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return written([&](BIO* bytes) {
    return PEM_write_bio_PrivateKey(bytes, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::int64_t seconds_of(ASN1_TIME const* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(::timegm(&parts)) : 0;
}

}  // namespace lastcall::kube::openssl
