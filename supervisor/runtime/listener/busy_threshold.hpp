// `GET` and `POST /busy_threshold`: thresholds of load over HTTP, in Dynamo's JSON.
//
// Rules:
//  1. GET lists what is set. POST with a threshold sets it, without one reads; what is left out
//     stays, null clears.
//  2. Where a token is set, a POST that changes something carries it in `X-Lastcall-Token`; what
//     only reads is for everybody who reaches the port, as its metrics are.
//  3. Errors are {"error": text}: 401 no token, 403 another one, 405 method, 413 length (the
//     listener's), 415 content type, 400 syntax and range, 422 another type than expected, 404 a
//     set for a model that is not served.
//
// Pure, any thread. Source: Dynamo's busy_threshold route; null clears and a set takes effect at
// once are ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/admission_limits.hpp"
#include "ipc/message.hpp"
#include "probes/listener/listener.hpp"

namespace lastcall::runtime {

inline constexpr std::string_view kBusyThresholdPath = "/busy_threshold";
inline constexpr std::size_t kMostBusyThresholdBody = 16 * 1024;

struct ListThresholds {};
/// What a request asks for: a list, a set (or a read, if it changes nothing), or it is refused.
using ThresholdCall = std::variant<ListThresholds, ipc::ThresholdsSet, probes::Reply>;

/// `token`: what a set must carry; absent, none is asked for.
ThresholdCall read_threshold_call(probes::Request const& request,
                                  std::optional<std::string> const& token);
bool is_read(ipc::ThresholdsSet const& set);

probes::Reply threshold_reply(std::string_view model, lifecycle::LoadThresholds const& thresholds);
probes::Reply threshold_list(std::string_view model, lifecycle::LoadThresholds const& thresholds);
probes::Reply threshold_error(int status, std::string_view what);

}  // namespace lastcall::runtime
