#include "probes/listener/busy_threshold.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/json_member.hpp"
#include "base/same_secret.hpp"

namespace lastcall::probes {
namespace {

using Json = nlohmann::ordered_json;

constexpr char const* kDecode = "active_decode_blocks_threshold";
constexpr char const* kPrefill = "active_prefill_tokens_threshold";
constexpr char const* kFraction = "active_prefill_tokens_threshold_frac";
constexpr std::size_t kMostModel = 256;
constexpr std::uint64_t kMostTokens = 1'000'000'000'000;  // as in the configuration

bool is_json(std::string_view content_type) {
  std::string kind;
  for (char const c : content_type.substr(0, content_type.find(';'))) {
    if (c != ' ' && c != '\t') {
      kind += ascii::lower(c);
    }
  }
  return kind == "application/json" ||
         (kind.starts_with("application/") && kind.ends_with("+json"));
}

Json json_of(ThresholdRow const& row) {
  Json json{{"model", row.model}, {kDecode, nullptr}, {kPrefill, nullptr}, {kFraction, nullptr}};
  if (row.thresholds.decode_ppm) {
    json[kDecode] = *row.thresholds.decode_ppm / lifecycle::kMillionths;
  }
  if (row.thresholds.prefill_tokens) {
    json[kPrefill] = *row.thresholds.prefill_tokens;
  }
  if (!row.holds_for.empty()) {
    json["holds_for"] = row.holds_for;
  }
  return json;
}

std::string expected(char const* key, char const* what) {
  return std::string(key) + ": expected " + what;
}

/// The value of the key, if there is one to read; null clears the setting.
template <typename T>
Json const* value_of(Json const& body, char const* key, Change<T>& change) {
  auto const found = body.find(key);
  if (found == body.end()) {
    return nullptr;
  }
  change.kind = found->is_null() ? Change<T>::Kind::clear : Change<T>::Kind::set;
  return found->is_null() ? nullptr : &*found;
}

/// Nothing if the value was read or is absent.
std::optional<Reply> read_decode(Json const& body, Change<std::uint32_t>& change) {
  Json const* const value = value_of(body, kDecode, change);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number()) {
    return threshold_error(422, expected(kDecode, "a number or null"));
  }
  double const share = value->get<double>();
  if (!std::isfinite(share) || share < 0 || share > 1) {
    return threshold_error(400, expected(kDecode, "0 to 1"));
  }
  change.value = lifecycle::millionths(share);
  return std::nullopt;
}

std::optional<Reply> read_prefill(Json const& body, Change<std::uint64_t>& change) {
  Json const* const value = value_of(body, kPrefill, change);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number_unsigned()) {
    return threshold_error(422, expected(kPrefill, "a whole number or null"));
  }
  change.value = value->get<std::uint64_t>();
  return change.value > kMostTokens
             ? std::optional(threshold_error(400, expected(kPrefill, "at most 1000000000000")))
             : std::nullopt;
}

/// Nothing if the request may set thresholds.
std::optional<Reply> refuse_stranger(Request const& request,
                                     std::optional<std::string> const& token) {
  std::string_view const given = request.header(kTokenHeader);
  if (!token || same_secret(given, *token)) {
    return std::nullopt;
  }
  std::string const header = "the header " + std::string(kTokenHeader);
  return given.empty() ? threshold_error(401, header + " is missing")
                       : threshold_error(403, header + " holds another token");
}

}  // namespace

ThresholdCall read_threshold_call(Request const& request, std::optional<std::string> const& token) {
  if (request.method == "GET" || request.method == "HEAD") {
    return ListThresholds{};
  }
  if (request.method != "POST") {
    return threshold_error(405, "expected GET or POST");
  }
  if (!is_json(request.header("Content-Type"))) {
    return threshold_error(415, "Content-Type: expected application/json");
  }
  Json const body = json::parsed<Json>(request.body);
  if (body.is_discarded()) {
    return threshold_error(400, "the body is not JSON");
  }
  if (!body.is_object()) {
    return threshold_error(422, "the body: expected an object");
  }
  auto const model = body.find("model");
  if (model == body.end() || !model->is_string()) {
    return threshold_error(422, "model: expected a text");
  }
  ThresholdChange set;
  set.model = model->get<std::string>();
  if (set.model.empty() || set.model.size() > kMostModel) {
    return threshold_error(400, "model: expected 1 to 256 bytes");
  }
  if (auto refusal = read_decode(body, set.decode_ppm)) {
    return std::move(*refusal);
  }
  if (auto refusal = read_prefill(body, set.prefill_tokens)) {
    return std::move(*refusal);
  }
  if (auto const fraction = body.find(kFraction); fraction != body.end() && !fraction->is_null()) {
    return fraction->is_number()
               ? threshold_error(400, std::string(kFraction) +
                                          ": not known here, because the engine does not report "
                                          "how many tokens it takes at once; use " +
                                          kPrefill)
               : threshold_error(422, expected(kFraction, "a number or null"));
  }
  if (auto refusal = set.is_read() ? std::nullopt : refuse_stranger(request, token)) {
    return std::move(*refusal);
  }
  return set;
}

bool is_for_want_of_token(Reply const& refusal) {
  return refusal.status == 401 || refusal.status == 403;
}

lifecycle::LoadThresholds changed(lifecycle::LoadThresholds thresholds,
                                  ThresholdChange const& change) {
  take_over(thresholds.decode_ppm, change.decode_ppm);
  take_over(thresholds.prefill_tokens, change.prefill_tokens);
  return thresholds;
}

Reply threshold_reply(ThresholdRow const& row) {
  return json_reply(200, json::dump(json_of(row)));
}

Reply threshold_list(std::vector<ThresholdRow> const& rows) {
  Json list = Json::array();
  for (ThresholdRow const& row : rows) {
    if (row.thresholds.decode_ppm || row.thresholds.prefill_tokens) {
      list.push_back(json_of(row));
    }
  }
  return json_reply(200, json::dump(Json{{"thresholds", std::move(list)}}));
}

Reply threshold_error(int status, std::string_view what) {
  return json_reply(status, json::dump(Json{{"error", what}}));
}

}  // namespace lastcall::probes
