// The listening TCP ports of this network namespace; in a pod, of all containers.
//
// They are logged to help if the engine does not listen at the address of its check. Rule: files
// that cannot be read are left out. Thread rule: none. Source: proc(5), /proc/net/tcp and
// /proc/net/tcp6.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace lastcall::runtime {

/// The local ports in the rows of such a file whose state is LISTEN.
std::set<std::uint16_t> listening_ports_in(std::string_view text);

/// The ports of both address families at this moment.
std::set<std::uint16_t> listening_ports();

}  // namespace lastcall::runtime
