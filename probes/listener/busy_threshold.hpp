// `GET` and `POST /busy_threshold`: load thresholds over HTTP, in Dynamo's JSON.
//
// Rules:
//  1. GET lists the thresholds. POST sets the thresholds that it has and reads if it has none; one
//     that is left out is kept, null clears it.
//  2. If a token is configured, a POST that changes something must carry it in `X-Lastcall-Token`;
//     a call that only reads is open to every client that reaches the port, as the metrics are.
//  3. Errors are {"error": text}: 401 without a token, 403 with a wrong one, 405 for the method,
//     413 for the length (sent by the listener), 415 for the content type, 400 for syntax and
//     range, 422 for a value of an unexpected type, 404 for a change to a model that is not served.
//  4. The router lists several models, and states what each row applies to.
//
// Pure, any thread. Source: Dynamo's busy_threshold route; we add that null clears a threshold and
// that a change takes effect at once.
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

  /// Whether it changes nothing.
  bool is_read() const {
    return decode_ppm.kind == Change<std::uint32_t>::Kind::keep &&
           prefill_tokens.kind == Change<std::uint64_t>::Kind::keep;
  }
};
/// The meaning of a request: a list, a change (or a read), or a refusal.
using ThresholdCall = std::variant<ListThresholds, ThresholdChange, Reply>;

lifecycle::LoadThresholds changed(lifecycle::LoadThresholds thresholds,
                                  ThresholdChange const& change);

/// One row of a list, or an answer of its own. `holds_for` states in words what the row applies to;
/// it is left out if empty.
struct ThresholdRow {
  std::string model;
  lifecycle::LoadThresholds thresholds;
  std::string_view holds_for{};
};

/// `token` is required for a change; if it is absent, none is required.
ThresholdCall read_threshold_call(Request const& request, std::optional<std::string> const& token);
/// Whether the refusal answers a client that did not show the token.
bool is_for_want_of_token(Reply const& refusal);

Reply threshold_reply(ThresholdRow const& row);
/// Lists the rows in which a threshold is set.
Reply threshold_list(std::vector<ThresholdRow> const& rows);
Reply threshold_error(int status, std::string_view what);

}  // namespace lastcall::probes
