// The listening TCP ports of this network namespace: in a pod, those of all containers.
//
// They help people whose engine does not listen at the address of its check. Rule: what cannot be
// read is left out. Thread rule: none. Source: proc(5), /proc/net/tcp and /proc/net/tcp6.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace lastcall::runtime {

/// Local ports of the rows of such a file that are in the state LISTEN.
std::set<std::uint16_t> listening_ports_in(std::string_view text);

/// The ports of both address families, as of now.
std::set<std::uint16_t> listening_ports();

}  // namespace lastcall::runtime
