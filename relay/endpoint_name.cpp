#include "relay/endpoint_name.hpp"

#include <algorithm>
#include <array>

#include "relay/body_look.hpp"
#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

struct Route {
  std::string_view path;
  std::string_view name;
};

/// A path is found under its own entry or under the entry of one of its parents.
constexpr std::array kRoutes = std::to_array<Route>({
    {"/v1/chat/completions", "chat_completions"},
    {"/v1/completions", "completions"},
    {"/v1/embeddings", "embeddings"},
    {"/v1/images", "images"},
    {"/v1/videos", "videos"},
    {"/v1/audio", "audios"},
    {"/v1/responses", "responses"},
    {"/v1/messages", "anthropic_messages"},
    {"/v1/rerank", "rerank"},
    {"/v2/rerank", "rerank"},
    {"/rerank", "rerank"},
    {"/v1/score", "score"},
    {"/score", "score"},
    {"/pooling", "pooling"},
    {"/classify", "classify"},
    {"/embed", "embeddings"},
    {"/generate", "generate"},
    {"/generate_stream", "generate"},
    {"/encode", "embeddings"},
    {"/tokenize", "tokenize"},
    {"/detokenize", "tokenize"},
    {"/invocations", "invocations"},
    {"/v1/realtime", "realtime"},
});

/// The messages of one tier of the SDK to another.
constexpr std::string_view kCalls = "/lastcall/calls";
constexpr std::string_view kModels = "/v2/models/";

bool is_under(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

/// Finds /v2/models/NAME[/versions/N]/infer and similar paths.
bool find_kserve(std::string_view path, EndpointName& found) {
  if (!path.starts_with(kModels)) {
    return false;
  }
  std::string_view const rest = path.substr(kModels.size());
  std::size_t const slash = rest.find('/');
  std::string_view const verb = path.substr(path.rfind('/') + 1);
  bool const works = verb == "infer" || verb == "generate" || verb == "generate_stream";
  if (slash == std::string_view::npos || !works) {
    return false;
  }
  found.name = verb == "infer" ? "tensor" : "generate";
  found.model = slash <= BodyLook::kMaxModel ? rest.substr(0, slash) : std::string_view();
  return true;
}

}  // namespace

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char byte = text[i];
    if (byte == '%') {
      bool const is_whole = text.size() - i > 2;
      int const code = is_whole ? http_text::hex_code(text[i + 1], text[i + 2]) : -1;
      if (code < 0x20 || code == 0x7f) {
        return std::string(text);
      }
      byte = static_cast<char>(code);
      i += 2;
    }
    out += byte;
  }
  return out;
}

std::string_view path_of(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return path;
}

EndpointName endpoint_of(std::string_view method, std::string_view target, bool upgrade) {
  std::string_view const path = path_of(target);
  EndpointName found{.name = kOtherEndpoint};
  bool const only_looks = method == "GET" || method == "HEAD" || method == "OPTIONS";
  found.counts = !is_under(path, kCalls) && (!only_looks || upgrade);
  if (find_kserve(path, found)) {
    return found;
  }
  auto const route = std::find_if(kRoutes.begin(), kRoutes.end(), [&](Route const& candidate) {
    return is_under(path, candidate.path);
  });
  if (route != kRoutes.end()) {
    found.name = route->name;
  }
  return found;
}

}  // namespace lastcall::relay
