#include "discovery/etcd_wire.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/json_member.hpp"
#include "base/parse_number.hpp"

namespace lastcall::discovery::etcd {

namespace {

using json::dump;
using json::member;
using json::text;
using Json = nlohmann::ordered_json;

/// A number that is left out is 0; nothing if the value is not a number.
std::optional<std::int64_t> number(Json const& json) {
  if (json.is_null()) {
    return 0;
  }
  return json.is_number_integer() ? json.get<std::int64_t>()
                                  : parse_number<std::int64_t>(text(json));
}

std::optional<KeyState> state_of(Json const& range) {
  auto const& found = member(range, "kvs");
  if (found.is_null()) {
    return KeyState{};
  }
  if (!found.is_array() || found.size() != 1) {
    return std::nullopt;
  }
  auto const revision = number(member(found[0], "mod_revision"));
  auto const lease = number(member(found[0], "lease"));
  auto value = base64_decode(text(member(found[0], "value")));
  if (!revision || !lease || !value) {
    return std::nullopt;
  }
  return KeyState{true, *revision, static_cast<std::uint64_t>(*lease), std::move(*value)};
}

/// Parses an answer; the gateway's answers always have a header.
std::optional<Json> parse_answer(std::string_view body) {
  auto json = json::parsed<Json>(body);
  if (!member(json, "header").is_object()) {
    return std::nullopt;
  }
  return json;
}

std::string if_unchanged(std::string_view key, std::int64_t revision, Json then) {
  Json const encoded = base64_encode(key);
  return dump(Json{{"compare", Json::array({{{"key", encoded},
                                             {"target", "MOD"},
                                             {"mod_revision", std::to_string(revision)}}})},
                   {"success", Json::array({std::move(then)})},
                   {"failure", Json::array({{{"request_range", {{"key", encoded}}}}})}});
}

}  // namespace

std::string instance_key(Instance const& instance) {
  return "v1/instances/" + instance.dynamo_namespace + "/" + instance.component + "/" +
         instance.endpoint + "/" + instance_hex(instance.id);
}

std::string instance_value(Instance const& instance) {
  return dump(Json{{"type", "Endpoint"},
                   {"namespace", instance.dynamo_namespace},
                   {"component", instance.component},
                   {"endpoint", instance.endpoint},
                   {"instance_id", instance.id},
                   {"transport", {{"http", instance.advertise}}},
                   {"model", instance.model},
                   {"pod_uid", instance.pod_uid}});
}

std::string owner_of(std::string_view value) {
  return text(member(json::parsed<Json>(value), "pod_uid"));
}

std::string authenticate_body(std::string_view user, std::string_view password) {
  return dump(Json{{"name", user}, {"password", password}});
}

std::string grant_body(std::uint64_t lease, std::int64_t ttl_seconds) {
  return dump(Json{{"ID", std::to_string(lease)}, {"TTL", std::to_string(ttl_seconds)}});
}

std::string lease_body(std::uint64_t lease) {
  return dump(Json{{"ID", std::to_string(lease)}});
}

std::string range_body(std::string_view key) {
  return dump(Json{{"key", base64_encode(key)}});
}

std::string put_body(std::string_view key, std::string_view value, std::uint64_t lease,
                     std::int64_t revision) {
  return if_unchanged(key, revision,
                      {{"request_put",
                        {{"key", base64_encode(key)},
                         {"value", base64_encode(value)},
                         {"lease", std::to_string(lease)}}}});
}

std::string delete_body(std::string_view key, std::int64_t revision) {
  return if_unchanged(key, revision, {{"request_delete_range", {{"key", base64_encode(key)}}}});
}

bool is_answer(std::string_view body) {
  auto const json = json::parsed<Json>(body);
  return member(json, "header").is_object() || member(member(json, "result"), "header").is_object();
}

Failure parse_failure(int http_status, std::string_view body) {
  auto const json = json::parsed<Json>(body);
  auto const& of_stream = member(json, "error");
  bool const is_stream = of_stream.is_object();
  auto const& code = is_stream ? member(of_stream, "grpc_code") : member(json, "code");
  auto message = is_stream ? text(member(of_stream, "message")) : text(of_stream);
  if (message.empty()) {
    message = text(member(json, "message"));  // newer versions have only this
  }
  bool const is_etcds = code.is_number_integer() && !message.empty();
  if (message.empty()) {
    message = "HTTP status " + std::to_string(http_status);
  }
  return {static_cast<int>(is_etcds ? number(code).value_or(0) : 0), std::move(message), is_etcds};
}

std::optional<std::string> parse_token(std::string_view body) {
  auto token = text(member(json::parsed<Json>(body), "token"));
  return token.empty() ? std::nullopt : std::optional(std::move(token));
}

std::optional<std::int64_t> parse_kept_alive(std::string_view body) {
  auto const json = json::parsed<Json>(body);
  auto const& result = member(json, "result");
  return result.is_object() ? number(member(result, "TTL")) : std::nullopt;
}

std::optional<KeyState> parse_range(std::string_view body) {
  auto const json = parse_answer(body);
  return json ? state_of(*json) : std::nullopt;
}

std::optional<Transaction> parse_transaction(std::string_view body) {
  auto const json = parse_answer(body);
  if (!json) {
    return std::nullopt;
  }
  auto const revision = number(member(member(*json, "header"), "revision"));
  if (!revision) {
    return std::nullopt;
  }
  Transaction transaction{member(*json, "succeeded") == true, *revision, {}};
  if (!transaction.succeeded) {
    auto const& responses = member(*json, "responses");
    if (!responses.is_array() || responses.size() != 1) {
      return std::nullopt;
    }
    auto found = state_of(member(responses[0], "response_range"));
    if (!found) {
      return std::nullopt;
    }
    transaction.found = std::move(*found);
  }
  return transaction;
}

}  // namespace lastcall::discovery::etcd
