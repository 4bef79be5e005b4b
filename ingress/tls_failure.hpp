// The reason why the TLS handshake of a client failed.
//
// Values only, no thread rule. Source: docs/ingress.md, 'TLS'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::ingress {

struct TlsFailure {
  enum class Kind : std::uint8_t {
    certificate,  // the client's certificate is missing or not verified
    protocol,     // no version, cipher or protocol in common
    other
  };
  Kind kind = Kind::other;
  std::string_view detail;  // a static text
};

/// The label of the metrics.
constexpr std::string_view name(TlsFailure::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"certificate", "protocol", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace lastcall::ingress
