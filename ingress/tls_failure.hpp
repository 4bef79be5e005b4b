// Why a client that speaks TLS could not be greeted.
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
    certificate,  // the client shows none, or one that no authority vouches for
    protocol,     // no version, cipher or protocol in common
    other
  };
  Kind kind = Kind::other;
  std::string_view detail;  // for people; lives for ever
};

/// The label of the metrics.
constexpr std::string_view name(TlsFailure::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"certificate", "protocol", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace lastcall::ingress
