// `GET` and `POST /busy_threshold`: thresholds of load over HTTP, in Dynamo's JSON.
//
// Rules:
//  1. GET lists the thresholds. POST with a threshold sets it, without one reads; one that is left
//     out stays, null clears.
//  2. Where a token is set, a POST that changes something carries it in `X-Lastcall-Token`; a call
//     that only reads is for every client that reaches the port, as its metrics are.
//  3. Errors are {"error": text}: 401 no token, 403 another one, 405 method, 413 length (the
//     listener's), 415 content type, 400 syntax and range, 422 another type than expected, 404 a
//     set for a model that is not served.
//  4. The router has rows of several models, and states for which each holds.
//
// Pure, any thread. Source: Dynamo's busy_threshold route; null clears and a set takes effect at
// once are ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/change.hpp"
#include "core/admission_limits.hpp"
#include "probes/listener/listener.hpp"

namespace lastcall::probes {

inline constexpr std::string_view kBusyThresholdPath = "/busy_threshold";
inline constexpr std::size_t kMostBusyThresholdBody = 16 * 1024;

struct ListThresholds {};
struct ThresholdChange {
  std::string model;
  Change<std::uint32_t> decode_ppm;  // a share of all blocks, in millionths
  Change<std::uint64_t> prefill_tokens;

  /// It changes nothing.
  bool is_read() const {
    return decode_ppm.kind == Change<std::uint32_t>::Kind::keep &&
           prefill_tokens.kind == Change<std::uint64_t>::Kind::keep;
  }
};
/// The meaning of a request: a list, a change (or a read), or it is refused.
using ThresholdCall = std::variant<ListThresholds, ThresholdChange, Reply>;

lifecycle::LoadThresholds changed(lifecycle::LoadThresholds thresholds,
                                  ThresholdChange const& change);

/// One line of a list, or an answer of its own. `holds_for`: for which it holds, in words; empty:
/// left out.
struct ThresholdRow {
  std::string model;
  lifecycle::LoadThresholds thresholds;
  std::string_view holds_for{};
};

/// `token`: what a set must carry; absent, none is asked for.
ThresholdCall read_threshold_call(Request const& request, std::optional<std::string> const& token);
/// It answers a client without the token.
bool is_for_want_of_token(Reply const& refusal);

Reply threshold_reply(ThresholdRow const& row);
/// Those rows in which something is set.
Reply threshold_list(std::vector<ThresholdRow> const& rows);
Reply threshold_error(int status, std::string_view what);

}  // namespace lastcall::probes
