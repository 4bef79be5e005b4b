// The urgency that a client gives its request: the `u` of its Priority field.
//
// Pure, no thread rule. Source: RFC 9218, section 4.1 (the field), and RFC 8941, section 3.2 (its
// syntax, a dictionary; several fields are one, and the last of several `u` counts).
#pragma once

#include <cstdint>

#include "relay/http_head.hpp"

namespace lastcall::relay {

/// 0 is the most urgent, 7 the least; lifecycle::kUsualPriority if the field is missing, invalid,
/// or longer than 512 bytes.
std::uint8_t priority_of(Fields const& fields);

}  // namespace lastcall::relay
