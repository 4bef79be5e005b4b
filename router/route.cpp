#include "router/route.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/json_reader.hpp"
#include "relay/body_look.hpp"
#include "relay/endpoint_name.hpp"

namespace lastcall::router {
namespace {

struct Rule {
  std::string_view endpoint;
  Repeat repeat;
};

constexpr std::uint8_t kModels = 1;

/// After the first two, the names are those of relay/endpoint_name.hpp. Endpoints that are not
/// listed are not routed.
constexpr std::array kRules = std::to_array<Rule>({
    {"", Repeat::unsent},
    {"models", Repeat::always},
    {"chat_completions", Repeat::always},
    {"completions", Repeat::always},
    {"anthropic_messages", Repeat::always},
    {"generate", Repeat::always},
    {"invocations", Repeat::always},
    {"tensor", Repeat::always},
    {"embeddings", Repeat::always},
    {"rerank", Repeat::always},
    {"score", Repeat::always},
    {"pooling", Repeat::always},
    {"classify", Repeat::always},
    {"tokenize", Repeat::always},
    {"images", Repeat::unless_begun},
    {"videos", Repeat::unless_begun},
    {"audios", Repeat::unless_begun},
    {"responses", Repeat::unsent},
});

/// Reads the field `model` of a form; uploads are forms instead of JSON.
std::string model_of_form(std::string_view body) {
  constexpr std::string_view kName = "name=\"model\"";
  constexpr std::size_t kMaxModel = relay::BodyLook::kMaxModel;
  std::size_t const at = body.find(kName);
  std::size_t const begin =
      at == std::string_view::npos ? at : body.find("\r\n\r\n", at + kName.size());
  if (begin == std::string_view::npos) {
    return {};
  }
  std::string_view const rest = body.substr(begin + 4);
  std::string_view const value = rest.substr(0, rest.find("\r\n"));
  return value.size() <= kMaxModel ? std::string(value) : std::string();
}

}  // namespace

std::string_view RouteKind::endpoint() const {
  return kRules.at(number).endpoint;
}

Route route_of(std::string_view method, std::string_view target) {
  if (relay::path_of(target) == "/v1/models" && (method == "GET" || method == "HEAD")) {
    return {{Routed::list_of_models, kRules[kModels].repeat, kModels}, {}};
  }
  relay::EndpointName const name = relay::endpoint_of(method, target, false);
  auto const* const rule =
      std::find_if(kRules.begin() + kModels + 1, kRules.end(),
                   [&](Rule const& candidate) { return candidate.endpoint == name.name; });
  if (rule == kRules.end() || method != "POST") {
    return {};
  }
  auto const number = static_cast<std::uint8_t>(rule - kRules.begin());
  return {{Routed::to_a_worker, rule->repeat, number}, relay::unescaped(name.model)};
}

bool is_form(std::string_view content_type) {
  return content_type.starts_with("multipart/form-data");
}

Wanted wanted_of(std::string_view body, bool is_form) {
  Wanted wanted;
  if (is_form) {
    wanted.model = model_of_form(body);
    return wanted;
  }
  relay::BodyLook look;
  look.feed(body);
  if (look.model().find('\\') == std::string::npos) {
    wanted.model = look.model();
  } else {
    wanted.model = json::to_string({json::Kind::string, true, look.model()});
  }
  wanted.stream = look.stream().value_or(false);
  std::vector<json::Member> members;
  if (body.find("previous_response_id") != std::string_view::npos ||
      body.find("\"store\"") != std::string_view::npos) {
    if (!json::read_object(body, members)) {
      for (json::Member const& member : members) {
        if (member.key == "previous_response_id") {
          wanted.continues_response = member.value.kind == json::Kind::string;
        } else if (member.key == "store") {
          wanted.is_kept = member.value.kind != json::Kind::boolean || json::is_true(member.value);
        }
      }
    }
  }
  return wanted;
}

}  // namespace lastcall::router
