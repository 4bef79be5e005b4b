#include "supervisor/kube/json_patch.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lastcall::kube {
namespace {

std::string escaped_key(std::string const& key) {
  std::string out;
  for (char const c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

/// Whether `after` may be `before` with additions, as far as its type and its scalars show.
bool is_grown(Json const& before, Json const& after) {
  if (before.is_object() && after.is_object()) {
    for (auto const& [key, value] : before.items()) {
      auto const found = after.find(key);
      if (found == after.end() || !is_grown(value, *found)) {
        return false;
      }
    }
    return true;
  }
  if (!before.is_array() || !after.is_array()) {
    return before == after;
  }
  std::size_t at = 0;
  for (Json const& item : before) {
    while (at < after.size() && !is_grown(item, after[at])) {
      ++at;
    }
    if (at++ >= after.size()) {
      return false;
    }
  }
  return true;
}

class Patch {
 public:
  void compare(Json const& before, Json const& after, std::string const& path) {
    if (before == after) {
      return;
    }
    if (before.is_object() && after.is_object()) {
      compare_objects(before, after, path);
    } else if (!before.is_array() || !after.is_array() || !compare_lists(before, after, path)) {
      add("replace", path, after);
    }
  }

  Json take() { return std::move(operations_); }

 private:
  void add(char const* operation, std::string const& path, Json const& value) {
    operations_.push_back({{"op", operation}, {"path", path}, {"value", value}});
  }

  void compare_objects(Json const& before, Json const& after, std::string const& path) {
    for (auto const& [key, value] : before.items()) {
      std::string const inner = path + "/" + escaped_key(key);
      auto const found = after.find(key);
      if (found == after.end()) {
        operations_.push_back({{"op", "remove"}, {"path", inner}});
      } else {
        compare(value, *found, inner);
      }
    }
    for (auto const& [key, value] : after.items()) {
      if (before.find(key) == before.end()) {
        add("add", path + "/" + escaped_key(key), value);
      }
    }
  }

  /// Compares from front to back, so that each index refers to the list as patched so far. False if
  /// items of `before` were removed or replaced.
  bool compare_lists(Json const& before, Json const& after, std::string const& path) {
    std::vector<std::size_t> counterparts;  // the index in `after` of each item of `before`
    std::size_t at = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      // Enough items must be left for the rest of `before`.
      std::size_t const last = after.size() - std::min(after.size(), before.size() - i);
      std::size_t found = at;
      while (found <= last && found < after.size() && !has_grown_into(before[i], after[found])) {
        ++found;
      }
      if (found > last || found >= after.size()) {
        return false;
      }
      counterparts.push_back(found);
      at = found + 1;
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      std::string const inner = path + "/" + std::to_string(i);
      if (next < counterparts.size() && counterparts[next] == i) {
        compare(before[next++], after[i], inner);
      } else {
        add("add", inner, after[i]);
      }
    }
    return true;
  }

  /// Items with names, such as containers, are the same item if they have the same name.
  static bool has_grown_into(Json const& before, Json const& after) {
    std::string const name = json::text(json::member(before, "name"));
    return name.empty() ? is_grown(before, after) : name == json::text(json::member(after, "name"));
  }

  Json operations_ = Json::array();
};

}  // namespace

Json patch_between(Json const& before, Json const& after) {
  Patch patch;
  patch.compare(before, after, "");
  return patch.take();
}

}  // namespace lastcall::kube
