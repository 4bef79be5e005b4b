// When the certificate in a file ends.
//
// Rules: the file is read again when it was replaced; where it cannot be read, what was read before
// it holds. Thread rule: one owner. Source: RFC 5280, 4.1.2.5; stat(2).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace lastcall::kube {

/// When the first certificate in PEM expires, in seconds since 1970; 0: there is none.
std::int64_t end_of_certificate(std::string const& pem);

class CertificateEnd {
 public:
  explicit CertificateEnd(std::string path) : path_(std::move(path)) {}

  std::int64_t look();

 private:
  std::string path_;
  std::array<std::int64_t, 4> stamp_{};
  std::int64_t ends_at_ = 0;
};

}  // namespace lastcall::kube
