#include "supervisor/runtime/reload.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;

/// Of one value or text; lists of commands can be long.
constexpr std::size_t kLongestText = 400;
/// Of the entries of one list; four lists and the longest entry fit into a line of 64 KiB.
constexpr std::size_t kMostBytes = 12'000;
constexpr std::size_t kMostRecords = 100;

std::vector<std::string> texts(config::Problems const& problems) {
  std::vector<std::string> lines;
  for (config::Problem const& problem : problems) {
    lines.push_back(config::to_text(problem));
  }
  return lines;
}

std::string shortened(std::string const& text) {
  return text.size() <= kLongestText ? text : text.substr(0, kLongestText) + "...";
}

Json entry_of(std::string const& text) {
  return shortened(text);
}

Json entry_of(config::Difference const& difference) {
  Json entry{{"key", difference.key},
             {"before", shortened(difference.before)},
             {"after", shortened(difference.after)}};
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
    bytes += entry.dump(-1, ' ', false, Json::error_handler_t::replace).size();
    if (bytes > kMostBytes) {
      json["left_out"] = json.value("left_out", std::size_t{0}) + elements.size() - list.size();
      break;
    }
    list.push_back(std::move(entry));
  }
  json[key] = std::move(list);
}

void tell(config::Difference const& difference, Log& log) {
  if (difference.live) {
    log.info("configuration key changed", {{"key", difference.key},
                                           {"before", shortened(difference.before)},
                                           {"after", shortened(difference.after)}});
  } else {
    log.warning("configuration key not changed", {{"key", difference.key},
                                                  {"before", shortened(difference.before)},
                                                  {"after", shortened(difference.after)},
                                                  {"reason", kNotLive}});
  }
}

template <typename Element, typename Tell>
void tell_first(std::vector<Element> const& elements, Tell tell_one) {
  std::size_t const count = std::min(elements.size(), kMostRecords);
  std::for_each_n(elements.begin(), count, tell_one);
}

}  // namespace

Reload read_again(config::LoadOptions const& options, config::Environment const& environment,
                  config::Config& config) {
  config::Loaded const loaded = config::load(options, environment);
  Reload reload;
  reload.warnings = texts(loaded.warnings);
  if (!loaded.errors.empty()) {
    reload.errors = texts(loaded.errors);
    return reload;
  }
  for (config::Difference& difference : config::differences(config, loaded.config)) {
    (difference.live ? reload.applied : reload.refused).push_back(std::move(difference));
  }
  config::apply_live(config, loaded.config);
  return reload;
}

std::string reload_json(Reload const& reload) {
  Json json{{"ok", reload.errors.empty()}, {"changed", !reload.applied.empty()}};
  put_list(json, "applied", reload.applied);
  put_list(json, "refused", reload.refused);
  put_list(json, "errors", reload.errors);
  put_list(json, "warnings", reload.warnings);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void tell(Reload const& reload, Log& log) {
  auto const tell_key = [&log](config::Difference const& difference) { tell(difference, log); };
  tell_first(reload.applied, tell_key);
  tell_first(reload.refused, tell_key);
  tell_first(reload.errors, [&log](std::string const& text) {
    log.error("configuration error", {{"detail", text}});
  });
  if (reload.errors.empty()) {
    log.info("configuration reloaded",
             {{"applied", reload.applied.size()}, {"refused", reload.refused.size()}});
  } else {
    log.error("cannot reload: the configuration has errors, the old one stays",
              {{"errors", reload.errors.size()}});
  }
}

}  // namespace lastcall::runtime
