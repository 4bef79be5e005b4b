#include "router/route.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_reader.hpp"
#include "relay/body_look.hpp"
#include "relay/endpoint_name.hpp"
#include "relay/http_text.hpp"
#include "router/continuation/request.hpp"

namespace lastcall::router {
namespace {

struct Rule {
  std::string_view endpoint;
  Repeat repeat;
};

constexpr std::uint8_t kModels = 1;

/// After the first two, relay/endpoint_name.hpp has the names. Endpoints that are not listed are
/// not routed.
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

constexpr std::string_view kModelField = "name=\"model\"";
constexpr std::string_view kStreamField = "name=\"stream\"";

/// Whether the head of a part has this name. The name of a file may be the same text.
bool has_name(std::string_view head, std::string_view name) {
  constexpr std::string_view kBefore = " \t;";
  std::size_t at = head.find(name);
  while (at != std::string_view::npos && (at == 0 || kBefore.find(head[at - 1]) == kBefore.npos)) {
    at = head.find(name, at + 1);
  }
  return at != std::string_view::npos;
}

/// Whether a field of a form has a value that servers in Python read as true.
bool is_true_in_a_form(std::string_view value) {
  constexpr std::array kTrue =
      std::to_array<std::string_view>({"true", "1", "yes", "on", "t", "y"});
  return std::any_of(kTrue.begin(), kTrue.end(),
                     [&](std::string_view each) { return relay::http_text::same(each, value); });
}

/// Reads the fields `model` and `stream` of a form; uploads are forms instead of JSON. The first
/// line is the delimiter of the parts. Only their heads are searched, because a file may contain
/// anything. Of several fields of one name the first one counts.
void read_form(std::string_view body, Wanted& wanted) {
  constexpr std::string_view kLineEnd = "\r\n";
  constexpr std::string_view kHeadEnd = "\r\n\r\n";
  std::string_view const first_line = body.substr(0, body.find(kLineEnd));
  std::string const delimiter = std::string(kLineEnd).append(first_line);
  bool has_model = false;
  bool has_stream = false;
  while (first_line.starts_with("--") && !(has_model && has_stream)) {
    std::size_t const head_end = body.find(kHeadEnd);
    if (head_end == std::string_view::npos) {
      break;
    }
    std::string_view const head = body.substr(0, head_end);
    body.remove_prefix(head_end + kHeadEnd.size());
    std::size_t const end = body.find(delimiter);
    std::string_view const value = body.substr(0, std::min(end, body.size()));
    if (end != std::string_view::npos && !has_model && has_name(head, kModelField)) {
      has_model = true;
      wanted.model = value.size() <= relay::BodyLook::kMaxModel ? value : std::string_view();
    } else if (end != std::string_view::npos && !has_stream && has_name(head, kStreamField)) {
      has_stream = true;
      wanted.stream = is_true_in_a_form(value);
    }
    body.remove_prefix(value.size());
  }
}

/// The model that the path names, or empty for the list of all; absent if models are not asked for.
std::optional<std::string> model_to_show(std::string_view method, std::string_view target) {
  constexpr std::string_view kModelsPath = "/v1/models";
  std::string_view path = relay::path_of(target);
  bool const is_read = method == "GET" || method == "HEAD";
  if (!is_read || !path.starts_with(kModelsPath)) {
    return std::nullopt;
  }
  path.remove_prefix(kModelsPath.size());
  if (path.empty()) {
    return std::string();
  }
  return path.starts_with('/') ? std::optional(relay::unescaped(path.substr(1))) : std::nullopt;
}

}  // namespace

std::string_view RouteKind::endpoint() const {
  return kRules.at(number).endpoint;
}

Route route_of(std::string_view method, std::string_view target) {
  if (auto model = model_to_show(method, target)) {
    Routed const routed = model->empty() ? Routed::list_of_models : Routed::one_model;
    return {{routed, kRules[kModels].repeat, kModels}, std::move(*model)};
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
  constexpr std::string_view kForm = "multipart/form-data";
  return relay::http_text::same(content_type.substr(0, kForm.size()), kForm);
}

Wanted wanted_of(std::string_view body, bool is_form) {
  Wanted wanted;
  if (is_form) {
    read_form(body, wanted);
    return wanted;
  }
  relay::BodyLook look;
  look.feed(body);
  wanted.model = look.model();
  wanted.stream = look.stream().value_or(false);
  std::vector<json::Member> members;
  if (body.find("previous_response_id") != std::string_view::npos ||
      body.find("\"store\"") != std::string_view::npos) {
    if (!json::read_object(body, members, {}, continuation::kMostMembers)) {
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
