// The other end of a connection: its address, and whether it is in this network namespace.
//
// A connection of this namespace goes to a loopback address or comes from one, or it comes from an
// address of one of its interfaces: a caller may bind to any of these, whichever it calls, and the
// kernel sends from no other one without a privilege. Every other caller has another host's
// address.
//
// Pure but for the questions to the kernel, any thread. Source: ip(7), getpeername(2),
// getifaddrs(3); RFC 4291, 2.5.5.2, on IPv4 addresses in IPv6 form.
#pragma once

#include <cstdint>
#include <string>

namespace lastcall::probes {

/// The facts to be known of a caller; to find out where it is, all addresses of this host are asked
/// for.
enum class CallerFacts : std::uint8_t { none, address, place };

struct Caller {
  std::string address;    // without its port; empty: it is gone, or has none
  bool is_local = false;  // where the place is asked for
};

Caller caller_of(int descriptor, CallerFacts wanted);

}  // namespace lastcall::probes
