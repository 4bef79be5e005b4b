// The meaning of a call of the lifecycle listener: a request in, a hook or the refusal out.
//
//   /lifecycle/prestop/engine      held until the engine's container may get its stop signal
//   /lifecycle/prestop/supervisor  the pod is being deleted
//
// Rules:
//  1. Where a token is set every call carries it in `X-Lastcall-Token`: none is a 401, another one
//     a 403. It is compared in a time that does not depend on where the two differ.
//  2. Without a token, a call from within the pod is a 403: the kubelet calls from the node, and an
//     engine that fetches a URL for a client must not be made to end its own pod. On the host's
//     network the kubelet cannot be distinguished from the pod.
//  3. GET, as the kubelet calls, and POST, as people do.
//
// Pure, any thread. Source: the kubelet's httpGet handler; specification, 'preStop'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "probes/listener/listener.hpp"

namespace lastcall::probes {

enum class Hook : std::uint8_t { engine, supervisor };

/// `token`: what every call must carry; absent, none is asked for.
std::variant<Hook, Reply> route_hook(Request const& request,
                                     std::optional<std::string> const& token);

/// `{"status":"returned",...}`: the answer to a call.
Reply hook_reply(std::string_view why, std::chrono::milliseconds held);
/// The same without the HTTP.
std::string hook_result(std::string_view why, std::chrono::milliseconds held);

}  // namespace lastcall::probes
