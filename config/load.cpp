#include "config/load.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/keys.hpp"
#include "config/sources.hpp"
#include "config/surroundings.hpp"
#include "config/validate.hpp"

namespace lastcall::config {
namespace {

/// Loads the sources and checks the configuration that results from all of them.
class Loader {
 public:
  Loader(LoadOptions const& options, Environment const& environment)
      : options_(options), environment_(environment) {}

  Loaded load() {
    Sources sources(
        options_, environment_, "LASTCALL_CONFIG", [this] { return keys_of(loaded_.config); },
        loaded_.errors);
    sources.load();
    loaded_.source = sources.source();
    Places const& places = sources.places();
    name_registries();
    loaded_.grace = pod_grace(environment_, loaded_.errors);
    loaded_.grace_period_is_given = places.contains("shutdown.grace_period");
    // With problems in single keys, the rules about several keys would only repeat them.
    if (loaded_.errors.empty()) {
      validate(loaded_.config, places, loaded_.grace, {loaded_.errors, loaded_.warnings});
      if (options_.look_around) {
        look_around(loaded_.config, places, environment_, loaded_.notes);
      }
    }
    sort_by_place(loaded_.errors);
    sort_by_place(loaded_.warnings);
    sort_by_place(loaded_.notes);
    return std::move(loaded_);
  }

 private:
  void name_registries() {
    constexpr std::array<char const*, 5> kNames{"etcd", "kubernetes", "http", "file", "ipc"};
    for (Registry& registry : loaded_.config.discovery) {
      if (registry.name.empty()) {
        registry.name = kNames.at(registry.kind.index());
      }
    }
  }

  LoadOptions const& options_;
  Environment const& environment_;
  Loaded loaded_;
};

}  // namespace

Loaded load(LoadOptions const& options, Environment const& environment) {
  return Loader(options, environment).load();
}

namespace {

/// Queries and fragments of URLs may hold tokens, and differences are logged.
std::string without_queries(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 1)) {
    std::size_t const end = std::min(text.find_first_of("\" ", at), text.size());
    std::size_t const query = text.find_first_of("?#", at);
    if (query < end) {
      text.replace(query + 1, end - query - 1, "***");
    }
  }
  return text;
}

std::string shown(Key const& key, std::string value) {
  return key.secret && !value.empty() ? "(secret)" : without_queries(std::move(value));
}

}  // namespace

std::vector<Difference> differences(Keys const& before, Keys const& after) {
  std::vector<Difference> found;
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::string old_value = value_text(before[i]);
    std::string new_value = value_text(after[i]);
    if (old_value != new_value) {
      found.push_back({.key = std::string(before[i].path),
                       .before = shown(before[i], std::move(old_value)),
                       .after = shown(after[i], std::move(new_value)),
                       .live = before[i].live});
    }
  }
  return found;
}

std::vector<Difference> differences(Config const& before, Config const& after) {
  Config old_config = before;
  Config new_config = after;
  return differences(keys_of(old_config), keys_of(new_config));
}

void apply_live(Keys const& to, Keys const& from) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!to[i].live) {
      continue;
    }
    std::visit(
        [&](auto const& slot) {
          using SlotType = std::decay_t<decltype(slot)>;
          SlotType const& other = std::get<SlotType>(from[i].slot);
          if constexpr (std::is_pointer_v<SlotType>) {
            *slot = *other;
          } else if constexpr (std::is_same_v<SlotType, Choice>) {
            slot.set(other.get());
          }
        },
        to[i].slot);
  }
}

void apply_live(Config& config, Config const& after) {
  Config new_config = after;
  apply_live(keys_of(config), keys_of(new_config));
}

}  // namespace lastcall::config
