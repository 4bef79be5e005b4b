// A server certificate with its key, and the authorities that clients have to trust.
//
// Rules:
//  1. A certificate that is made here is signed by an authority of its own, whose key is dropped
//     afterwards: nothing else can ever be signed with it.
//  2. Authorities that did not sign the certificate are still trusted during a change: for kOverlap
//     after the certificate was made, no longer than they are valid, and at most kMostAuthorities
//     in total.
//
// Pure except for random numbers; no thread rule. Source: RFC 5280; RFC 6125; Go's crypto/x509, by
// which API servers verify.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lastcall::kube {

struct KeyPair {
  std::string certificate;  // in PEM, like the other two
  std::string key;
  std::string authorities;
  friend bool operator==(KeyPair const&, KeyPair const&) = default;
};

inline constexpr std::chrono::hours kLifetime{24 * 3650};
/// How long before its end a certificate is replaced.
inline constexpr std::chrono::hours kRenewBefore{24 * 30};
/// At least kRenewBefore, so that replicas with the old certificate are trusted until its end.
inline constexpr std::chrono::hours kOverlap = kRenewBefore;
inline constexpr std::size_t kMostAuthorities = 4;

/// Makes a certificate for a server with these names, valid from now on (seconds since 1970).
/// Nothing if the library has no memory or no random numbers.
std::optional<KeyPair> make_key_pair(std::vector<std::string> const& names, std::int64_t now);

/// Why clients that trust the authorities would refuse a server of that name; empty if they accept
/// it.
std::string why_refused(KeyPair const& pair, std::string const& name, std::int64_t now);

bool is_near_end(KeyPair const& pair, std::int64_t now);

/// The authorities to trust from now on, the certificate's own first. `before` are the authorities
/// of certificates that replicas may still have.
std::string authorities_of(KeyPair const& pair, std::string const& before, std::int64_t now);

}  // namespace lastcall::kube
