#include "config/sources.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.hpp"
#include "base/read_to_end.hpp"
#include "config/decode_values.hpp"
#include "config/utf8.hpp"

namespace lastcall::config {
namespace {

struct FileText {
  std::string text;
  std::string problem;  // empty: it was read
  int error = 0;
};

/// Waits for a pipe's end only if the file is read once: an event loop reads again, and the pipe
/// would be empty then, which would mean the defaults. May read more than a configuration may have;
/// the parser then refuses the size.
FileText read_file(std::string const& path, bool is_read_again) {
  FileText file;
  int const waits = is_read_again ? O_NONBLOCK : 0;
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | waits);
  if (fd < 0) {
    file.error = errno;
    file.problem = "cannot open: " + error_text(file.error);
    return file;
  }
  struct stat info {};
  if (::fstat(fd, &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      file.problem = "a directory, expected a file";
    } else if (is_read_again && S_ISFIFO(info.st_mode)) {
      file.problem = "a pipe, expected a file that a restart or a reload can read again";
    }
  }
  if (file.problem.empty()) {
    file.error = read_to_end(fd, file.text, kMaximumSize);
    file.problem = file.error == 0 ? "" : "cannot read: " + error_text(file.error);
  }
  ::close(fd);
  return file;
}

Node raw_value(std::string const& text, Place const& place) {
  Node node;
  node.kind = text.empty() || text == "null" ? Node::Kind::null : Node::Kind::scalar;
  node.style = Node::Style::raw;
  node.text = text;
  node.place = place;
  return node;
}

/// Turns a.b=value into the document {a: {b: value}}.
Node nested(std::string_view path, Node value, Place const& place) {
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

/// Enough of a flag to recognise it; bytes that are not printable ASCII become '?'.
std::string clip(std::string_view text) {
  std::string shown(text.substr(0, std::min(text.find('\n'), std::size_t{80})));
  if (find_bad_byte(shown)) {
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  }
  return shown;
}

}  // namespace

Sources::Sources(LoadOptions const& options, Environment const& environment, char const* variable,
                 Bind keys, Problems& errors)
    : options_(options),
      environment_(environment),
      variable_(variable),
      keys_(std::move(keys)),
      errors_(errors) {}

void Sources::load() {
  load_file();
  load_variables();
  for (std::string const& text : options_.overrides) {
    load_override(text);
  }
}

void Sources::load_file() {
  std::optional<std::string> path = options_.path;
  if (!path) {
    path = environment_(variable_);
  }
  bool const was_named = path.has_value();
  std::string const source = path.value_or(options_.default_path);
  if (source.empty()) {
    errors_.push_back({{"--config", 0, 0}, "", "no file name, expected one"});
    return;
  }
  FileText const file = read_file(source, options_.is_read_again);
  if (!was_named && (file.error == ENOENT || file.error == ENOTDIR)) {
    return;
  }
  source_ = source;
  if (!file.problem.empty()) {
    errors_.push_back({{source, 0, 0}, "", file.problem});
    return;
  }
  decode_onto(parse_document(file.text, source, errors_));
}

void Sources::load_variables() {
  for (Key const& key : keys_()) {
    if (key.env.empty()) {
      continue;
    }
    if (std::optional<std::string> const value = environment_(std::string(key.env).c_str())) {
      Place const place{std::string(key.env), 0, 0};
      if (std::optional<BadByte> bad = find_bad_byte(*value)) {
        errors_.push_back({place, std::string(key.path), std::move(bad->problem)});
        continue;
      }
      decode_variable(key.path, nested(key.path, raw_value(*value, place), place));
    }
  }
}

/// A variable sets its key only: it does not enable the sections around it.
void Sources::decode_variable(std::string_view path, Node const& root) {
  std::vector<std::pair<bool*, bool>> before;
  for (Key const& key : keys_()) {
    Section const* const section = std::get_if<Section>(&key.slot);
    if (section != nullptr && section->enables != nullptr) {
      before.emplace_back(section->enables, *section->enables);
    }
  }
  Places places;
  decode(root, keys_(), errors_, places);
  for (auto const& [enabled, was] : before) {
    *enabled = was;
  }
  if (auto const own = places.find(path); own != places.end()) {
    places_.insert_or_assign(own->first, own->second);
  }
}

void Sources::load_override(std::string const& text) {
  // The place is the key alone: the value may be secret, and a complaint shows enough of it.
  std::size_t const equals = text.find('=');
  Place const place{"--set " + clip(text.substr(0, equals == 0 ? text.npos : equals)), 0, 0};
  if (std::optional<BadByte> bad = find_bad_byte(text)) {
    errors_.push_back({place, "", std::move(bad->problem)});
    return;
  }
  if (equals == std::string::npos || equals == 0) {
    errors_.push_back({place, "", "no key and value, expected key=value"});
    return;
  }
  std::string const path = text.substr(0, equals);
  std::string const value = text.substr(equals + 1);
  if (path.find("..") != std::string::npos || path.front() == '.' || path.back() == '.') {
    errors_.push_back({place, "", "an empty name in the key, expected a.b=value"});
    return;
  }
  Node node = takes_yaml(path) ? parse_value(value, place, errors_) : raw_value(value, place);
  decode_onto(nested(path, std::move(node), place));
}

/// Lists and sections are written as YAML; the text of any other key is taken as it is.
bool Sources::takes_yaml(std::string_view path) {
  Keys const keys = keys_();
  auto const found =
      std::find_if(keys.begin(), keys.end(), [&](Key const& k) { return k.path == path; });
  std::string_view const type = found == keys.end() ? "" : type_text(*found);
  return type == "section" || type.starts_with("list");
}

void Sources::decode_onto(Node const& root) {
  decode(root, keys_(), errors_, places_);
}

}  // namespace lastcall::config
