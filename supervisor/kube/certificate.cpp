#include "supervisor/kube/certificate.hpp"

#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include "supervisor/kube/openssl_handles.hpp"

namespace lastcall::kube {

std::int64_t end_of_certificate(std::string const& pem) {
  auto const found = openssl::certificates_of(pem, 1);
  return found.empty() ? 0 : openssl::seconds_of(X509_get0_notAfter(found.front().get()));
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
