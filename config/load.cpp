#include "config/load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.hpp"
#include "config/decode.hpp"
#include "config/decode_values.hpp"
#include "config/keys.hpp"
#include "config/surroundings.hpp"
#include "config/utf8.hpp"
#include "config/validate.hpp"

namespace lastcall::config {
namespace {

struct FileText {
  std::string text;
  std::string problem;  // empty: it was read
  int error = 0;
};

/// Reads one byte more than a configuration may have, so that the size is judged by the parser.
FileText read_file(std::string const& path) {
  FileText file;
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    file.error = errno;
    file.problem = "cannot open: " + error_text(file.error);
    return file;
  }
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    file.problem = "a directory, expected a file";
  }
  std::array<char, 65'536> buffer{};
  while (file.problem.empty() && file.text.size() <= kMaximumSize) {
    ssize_t const count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0) {
      file.text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      break;
    } else if (errno != EINTR) {
      file.error = errno;
      file.problem = "cannot read: " + error_text(file.error);
    }
  }
  ::close(fd);
  return file;
}

/// Decodes sources one on top of the other, and remembers where each key was given.
class Loader {
 public:
  Loader(LoadOptions const& options, Environment const& environment)
      : options_(options), environment_(environment) {}

  Loaded load() {
    load_file();
    load_variables();
    for (std::string const& text : options_.overrides) {
      load_override(text);
    }
    name_registries();
    loaded_.grace = pod_grace(environment_, loaded_.errors);
    loaded_.grace_period_is_given = places_.contains("shutdown.grace_period");
    // Joint rules would only repeat what single keys have said.
    if (loaded_.errors.empty()) {
      validate(loaded_.config, places_, loaded_.grace, {loaded_.errors, loaded_.warnings});
      if (options_.look_around) {
        look_around(loaded_.config, places_, environment_, loaded_.notes);
      }
    }
    sort_by_place(loaded_.errors);
    sort_by_place(loaded_.warnings);
    sort_by_place(loaded_.notes);
    return std::move(loaded_);
  }

 private:
  void load_file() {
    std::optional<std::string> path = options_.path;
    if (!path) {
      path = environment_("LASTCALL_CONFIG");
    }
    bool const was_named = path.has_value();
    std::string const source = path.value_or(options_.default_path);
    if (source.empty()) {
      loaded_.errors.push_back({{"--config", 0, 0}, "", "no file name, expected one"});
      return;
    }
    FileText const file = read_file(source);
    if (!was_named && (file.error == ENOENT || file.error == ENOTDIR)) {
      return;
    }
    loaded_.source = source;
    if (!file.problem.empty()) {
      loaded_.errors.push_back({{source, 0, 0}, "", file.problem});
      return;
    }
    decode_onto(parse_document(file.text, source, loaded_.errors));
  }

  void load_variables() {
    for (Key const& key : keys_of(loaded_.config)) {
      if (key.env.empty()) {
        continue;
      }
      if (std::optional<std::string> const value = environment_(std::string(key.env).c_str())) {
        Place const place{std::string(key.env), 0, 0};
        if (std::optional<BadByte> bad = find_bad_byte(*value)) {
          loaded_.errors.push_back({place, std::string(key.path), std::move(bad->problem)});
          continue;
        }
        decode_variable(key.path, nested(key.path, raw_value(*value, place), place));
      }
    }
  }

  /// A variable says what a key is and nothing of the sections around it: it turns none on.
  void decode_variable(std::string_view path, Node const& root) {
    std::vector<std::pair<bool*, bool>> before;
    for (Key const& key : keys_of(loaded_.config)) {
      Section const* const section = std::get_if<Section>(&key.slot);
      if (section != nullptr && section->enables != nullptr) {
        before.emplace_back(section->enables, *section->enables);
      }
    }
    Places places;
    decode(root, loaded_.config, loaded_.errors, places);
    for (auto const& [enabled, was] : before) {
      *enabled = was;
    }
    if (auto const own = places.find(path); own != places.end()) {
      places_.insert_or_assign(own->first, own->second);
    }
  }

  void load_override(std::string const& text) {
    // The key alone: a value may be secret, and the complaint about it shows enough of it.
    std::size_t const equals = text.find('=');
    Place const place{"--set " + clip(text.substr(0, equals == 0 ? text.npos : equals)), 0, 0};
    if (std::optional<BadByte> bad = find_bad_byte(text)) {
      loaded_.errors.push_back({place, "", std::move(bad->problem)});
      return;
    }
    if (equals == std::string::npos || equals == 0) {
      loaded_.errors.push_back({place, "", "no key and value, expected key=value"});
      return;
    }
    std::string const path = text.substr(0, equals);
    std::string const value = text.substr(equals + 1);
    if (path.find("..") != std::string::npos || path.front() == '.' || path.back() == '.') {
      loaded_.errors.push_back({place, "", "an empty name in the key, expected a.b=value"});
      return;
    }
    Node node =
        takes_yaml(path) ? parse_value(value, place, loaded_.errors) : raw_value(value, place);
    decode_onto(nested(path, std::move(node), place));
  }

  /// Lists and sections are written as YAML; the text of any other key is taken as it is.
  bool takes_yaml(std::string_view path) {
    Keys const keys = keys_of(loaded_.config);
    auto const found =
        std::find_if(keys.begin(), keys.end(), [&](Key const& k) { return k.path == path; });
    std::string_view const type = found == keys.end() ? "" : type_text(*found);
    return type == "section" || type.starts_with("list");
  }

  static Node raw_value(std::string const& text, Place const& place) {
    Node node;
    node.kind = text.empty() || text == "null" ? Node::Kind::null : Node::Kind::scalar;
    node.style = Node::Style::raw;
    node.text = text;
    node.place = place;
    return node;
  }

  /// a.b=value as the document {a: {b: value}}.
  static Node nested(std::string_view path, Node value, Place const& place) {
    while (!path.empty()) {
      std::size_t const dot = path.rfind('.');
      Node section;
      section.kind = Node::Kind::map;
      section.place = place;
      Entry entry;
      entry.key = std::string(path.substr(dot == std::string_view::npos ? 0 : dot + 1));
      entry.place = place;
      entry.value = std::move(value);
      section.entries.push_back(std::move(entry));
      value = std::move(section);
      path = path.substr(0, dot == std::string_view::npos ? 0 : dot);
    }
    return value;
  }

  /// Enough of a flag to know it again; bytes that are no text would not print either.
  static std::string clip(std::string_view text) {
    std::string shown(text.substr(0, std::min(text.find('\n'), std::size_t{80})));
    if (find_bad_byte(shown)) {
      std::replace_if(
          shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    }
    return shown;
  }

  void decode_onto(Node const& root) { decode(root, loaded_.config, loaded_.errors, places_); }

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
  Places places_;
};

}  // namespace

Loaded load(LoadOptions const& options, Environment const& environment) {
  return Loader(options, environment).load();
}

namespace {

std::string shown(Key const& key, std::string value) {
  return key.secret && !value.empty() ? "(secret)" : std::move(value);
}

}  // namespace

std::vector<Difference> differences(Config const& before, Config const& after) {
  Config old_config = before;
  Config new_config = after;
  Keys const old_keys = keys_of(old_config);
  Keys const new_keys = keys_of(new_config);
  std::vector<Difference> found;
  for (std::size_t i = 0; i < old_keys.size(); ++i) {
    std::string old_value = value_text(old_keys[i]);
    std::string new_value = value_text(new_keys[i]);
    if (old_value != new_value) {
      found.push_back({.key = std::string(old_keys[i].path),
                       .before = shown(old_keys[i], std::move(old_value)),
                       .after = shown(new_keys[i], std::move(new_value)),
                       .live = old_keys[i].live});
    }
  }
  return found;
}

void apply_live(Config& config, Config const& after) {
  Config new_config = after;
  Keys const old_keys = keys_of(config);
  Keys const new_keys = keys_of(new_config);
  for (std::size_t i = 0; i < old_keys.size(); ++i) {
    if (!old_keys[i].live) {
      continue;
    }
    std::visit(
        [&](auto const& to) {
          using SlotType = std::decay_t<decltype(to)>;
          SlotType const& from = std::get<SlotType>(new_keys[i].slot);
          if constexpr (std::is_pointer_v<SlotType>) {
            *to = *from;
          } else if constexpr (std::is_same_v<SlotType, Choice>) {
            to.set(from.get());
          }
        },
        old_keys[i].slot);
  }
}

}  // namespace lastcall::config
