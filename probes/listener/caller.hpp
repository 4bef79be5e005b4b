// The other end of a connection: its address, and whether it is in this network namespace.
//
// A connection from this namespace goes to or comes from a loopback address, or comes from an
// address of one of its interfaces: a caller may bind to any of these, whichever address it calls,
// and without a privilege the kernel sends from no other one. Every other caller has the address of
// another host.
//
// Pure except for queries to the kernel, any thread. Source: ip(7), getpeername(2),
// getifaddrs(3); RFC 4291, 2.5.5.2, on IPv4 addresses in IPv6 form.
#pragma once

#include <cstdint>
#include <string>

namespace lastcall::probes {

/// The facts that a handler needs about a caller; its place is found by reading all addresses of
/// this host.
enum class CallerFacts : std::uint8_t { none, address, place };

struct Caller {
  std::string address;    // without its port; empty: it is gone, or has none
  bool is_local = false;  // only set if the place is asked for
};

Caller caller_of(int descriptor, CallerFacts wanted);

}  // namespace lastcall::probes
