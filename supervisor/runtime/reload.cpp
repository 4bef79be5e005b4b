#include "supervisor/runtime/reload.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;

/// The largest size of the entries of one list, in bytes: four lists and the longest entry fit into
/// 64 KiB.
constexpr std::size_t kMostBytes = 12'000;

Json entry_of(std::string const& text) {
  return telemetry::shortened(text);
}

Json entry_of(config::Difference const& difference) {
  Json entry{{"key", difference.key},
             {"before", telemetry::shortened(difference.before)},
             {"after", telemetry::shortened(difference.after)}};
  if (!difference.live) {
    entry["reason"] = kNotLive;
  }
  return entry;
}

template <typename Element>
void put_list(Json& json, char const* key, std::vector<Element> const& elements) {
  Json list = Json::array();
  std::size_t bytes = 0;
  for (Element const& element : elements) {
    Json entry = entry_of(element);
    bytes += json::dump(entry).size();
    if (bytes > kMostBytes) {
      json["left_out"] = json.value("left_out", std::size_t{0}) + elements.size() - list.size();
      break;
    }
    list.push_back(std::move(entry));
  }
  json[key] = std::move(list);
}

}  // namespace

telemetry::Reload read_again(config::LoadOptions const& options,
                             config::Environment const& environment, config::Config& config) {
  config::Loaded const loaded = config::load(options, environment);
  telemetry::Reload reload = telemetry::compared(
      loaded.errors, loaded.warnings, [&] { return config::differences(config, loaded.config); });
  if (!reload.errors.empty()) {
    return reload;
  }
  config::apply_live(config, loaded.config);
  return reload;
}

std::string reload_json(telemetry::Reload const& reload) {
  Json json{{"ok", reload.errors.empty()}, {"changed", !reload.applied.empty()}};
  put_list(json, "applied", reload.applied);
  put_list(json, "refused", reload.refused);
  put_list(json, "errors", reload.errors);
  put_list(json, "warnings", reload.warnings);
  return json::dump(json);
}

}  // namespace lastcall::runtime
