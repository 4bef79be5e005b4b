// The other end of a connection: its address, and whether it is in this network namespace.
//
// A connection of this namespace comes from a loopback address, or from the very address that it
// goes to: the kernel chooses the local address of a route to itself. Everybody else has another.
//
// Pure but for the two questions to the kernel, any thread. Source: ip(7), getpeername(2); RFC
// 4291, 2.5.5.2, on IPv4 addresses in IPv6 form.
#pragma once

#include <string>

namespace lastcall::probes {

struct Caller {
  std::string address;  // without its port; empty: it is gone, or has none
  bool is_local = false;
};

Caller caller_of(int descriptor);

}  // namespace lastcall::probes
