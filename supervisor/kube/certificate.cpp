#include "supervisor/kube/certificate.hpp"

#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

namespace lastcall::kube {
namespace {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};

}  // namespace

std::int64_t end_of_certificate(std::string const& pem) {
  std::unique_ptr<BIO, FreeX509> const bytes(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::unique_ptr<X509, FreeX509> const certificate(
      bytes ? PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr) : nullptr);
  std::tm end{};
  bool const is_read =
      certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) == 1;
  return is_read ? static_cast<std::int64_t>(::timegm(&end)) : 0;
}

std::int64_t CertificateEnd::look() {
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0) {
    return ends_at_;
  }
  std::array<std::int64_t, 4> const stamp{static_cast<std::int64_t>(found.st_ino), found.st_size,
                                          found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
  if (stamp != stamp_) {
    stamp_ = stamp;
    std::ifstream file(path_, std::ios::binary);
    std::string const pem(std::istreambuf_iterator<char>(file), {});
    if (std::int64_t const end = end_of_certificate(pem); end != 0) {
      ends_at_ = end;
    }
  }
  return ends_at_;
}

}  // namespace lastcall::kube
