// A certificate of a server with its key and the authorities that a client needs to trust it.
//
// Rules:
//  1. What is made here is signed by an authority of its own, whose key is gone afterwards: nothing
//     else can ever be signed with it.
//  2. Of several authorities those that did not sign the certificate are trusted while a change
//     lasts: kOverlap from the certificate's making, no longer than they last themselves, and no
//     more than kMostAuthorities in all.
//
// Pure but for random numbers; no thread rule. Source: RFC 5280; RFC 6125; Go's crypto/x509, which
// API servers verify with.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lastcall::kube {

struct KeyPair {
  std::string certificate;  // PEM, as the other two
  std::string key;
  std::string authorities;
  friend bool operator==(KeyPair const&, KeyPair const&) = default;
};

inline constexpr std::chrono::hours kLifetime{24 * 3650};
/// A certificate is replaced so long before its end.
inline constexpr std::chrono::hours kRenewBefore{24 * 30};
/// No shorter than kRenewBefore: replicas that have the old certificate are trusted until its end.
inline constexpr std::chrono::hours kOverlap = kRenewBefore;
inline constexpr std::size_t kMostAuthorities = 4;

/// For a server that has these names, from now on (seconds since 1970). Nothing where the library
/// has no memory or no random numbers.
std::optional<KeyPair> make_key_pair(std::vector<std::string> const& names, std::int64_t now);

/// Why clients that trust the authorities would refuse a server of that name; empty: they do not.
std::string why_refused(KeyPair const& pair, std::string const& name, std::int64_t now);

bool is_near_end(KeyPair const& pair, std::int64_t now);

/// What is to be trusted from now on, the certificate's own authority first. `before`: those of
/// certificates that replicas may still have.
std::string authorities_of(KeyPair const& pair, std::string const& before, std::int64_t now);

}  // namespace lastcall::kube
