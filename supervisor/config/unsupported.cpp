#include "supervisor/config/unsupported.hpp"

#include <string>
#include <string_view>
#include <unordered_set>

#include "supervisor/config/keys.hpp"

namespace lastcall::config {
namespace {

constexpr char const* kNotYet = "this version does not do that yet: it has no effect";

class Judge {
 public:
  Judge(Places const& places, Findings findings) : places_(places), findings_(findings) {}

  /// One warning for each marked part in which anything differs from the defaults.
  void sections(Keys const& keys, Keys const& defaults) {
    std::unordered_set<std::string_view> told;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::string_view const part = marked_part(keys, keys[i].path);
      if (!part.empty() && value_text(keys[i]) != value_text(defaults[i]) &&
          told.insert(part).second) {
        findings_.warnings.push_back(
            {nearest_place(places_, keys[i].path), std::string(part), kNotYet});
      }
    }
  }

 private:
  Places const& places_;
  Findings findings_;
};

}  // namespace

std::string_view marked_part(Keys const& keys, std::string_view path) {
  for (Key const& key : keys) {
    bool const is_in = path.starts_with(key.path) &&
                       (path.size() == key.path.size() || path[key.path.size()] == '.');
    if (key.not_yet && is_in) {
      return key.path;
    }
  }
  return {};
}

void unsupported(Config const& config, Places const& places, Findings findings) {
  Config given = config;
  Config defaults;
  Judge judge(places, findings);
  judge.sections(keys_of(given), keys_of(defaults));
}

}  // namespace lastcall::config
