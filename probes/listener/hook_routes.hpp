// The meaning of a call to the lifecycle listener: a request in, a hook or a refusal out.
//
//   /lifecycle/prestop/engine      held until the engine's container may get its stop signal
//   /lifecycle/prestop/supervisor  the pod is being deleted
//
// Rules:
//  1. If a token is configured, every call must carry it in `X-Lastcall-Token`: without one it gets
//     a 401, with a wrong one a 403. The time of the comparison does not depend on where they
//     differ.
//  2. Without a configured token, a call from within the pod gets a 403: the kubelet calls from the
//     node, and nobody must be able to end the pod through an engine that fetches URLs for clients.
//     On the host's network the kubelet cannot be distinguished from the pod.
//  3. GET is allowed because the kubelet uses it, POST because people do.
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

/// `token` is required in every call; if it is absent, none is required.
std::variant<Hook, Reply> route_hook(Request const& request,
                                     std::optional<std::string> const& token);

/// `{"status":"returned",...}`: the answer to a call.
Reply hook_reply(std::string_view why, std::chrono::milliseconds held);
/// The same as JSON text only, without HTTP.
std::string hook_result(std::string_view why, std::chrono::milliseconds held);

}  // namespace lastcall::probes
