#include "relay/control_paths.hpp"

#include <algorithm>
#include <utility>

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

constexpr std::size_t kWithoutLetter = 32;

/// The five bits in which letters differ, whatever their case.
std::size_t bucket_of(std::string_view path) {
  return path.size() < 2 ? kWithoutLetter : static_cast<unsigned char>(path[1]) % kWithoutLetter;
}

std::string_view without_last_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return path;
}

bool begins_with(std::string_view path, std::string_view prefix) {
  return path.size() >= prefix.size() && http_text::same(path.substr(0, prefix.size()), prefix);
}

/// Whether the path may mean another one than it spells.
bool is_plain(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    char const c = path[i];
    bool const begins_segment = i > 0 && path[i - 1] == '/';
    if (c == '%' || c == '\\' || c == ';' || (begins_segment && (c == '/' || c == '.'))) {
      return false;
    }
  }
  return true;
}

/// What is written may be an escape again: it is looked at as it grows, so that the whole takes no
/// more steps than there are bytes.
void append_decoded(std::string& out, char c) {
  out += c;
  while (out.size() >= 3 && out[out.size() - 3] == '%') {
    int const high = http_text::hex_digit(out[out.size() - 2]);
    int const low = http_text::hex_digit(out[out.size() - 1]);
    if (high < 0 || low < 0) {
      return;
    }
    out.resize(out.size() - 3);
    out += static_cast<char>(high * 16 + low);
  }
}

std::string decoded(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (char const c : path) {
    append_decoded(out, c);
  }
  return out;
}

/// Segments without their parameters, one slash before each; false where one is a dot segment.
bool collapse(std::string& path) {
  std::string_view const from = path;
  std::string out;
  out.reserve(path.size());
  for (std::size_t begin = 0; begin < from.size();) {
    std::size_t const end = std::min(from.find_first_of("/\\", begin), from.size());
    std::string_view segment = from.substr(begin, end - begin);
    segment = segment.substr(0, segment.find(';'));
    if (segment == "." || segment == "..") {
      return false;
    }
    if (!segment.empty()) {
      out.append("/").append(segment);
    }
    begin = end + 1;
  }
  path = out.empty() ? "/" : std::move(out);
  return true;
}

}  // namespace

ControlPaths::ControlPaths(std::vector<ControlPath> paths) {
  for (ControlPath const& path : paths) {
    Entry entry{.prefix = path.path,
                .is_open = path.path.ends_with('*'),
                .access = path.access,
                .is_engines = path.is_engines};
    if (entry.is_open) {
      entry.prefix.pop_back();
    } else {
      entry.prefix = without_last_slash(entry.prefix);
    }
    buckets_[bucket_of(entry.prefix)].push_back(std::move(entry));
  }
}

ControlPaths::Decision ControlPaths::decide(std::string_view target) const {
  std::string_view const path = target.substr(0, target.find('?'));
  if (path.empty()) {
    return look_up("/");
  }
  if (is_plain(path)) {
    return look_up(without_last_slash(path));
  }
  std::string meant = decoded(path);
  if (!collapse(meant)) {
    return {.is_ambiguous = true};
  }
  return look_up(meant);
}

ControlPaths::Decision ControlPaths::look_up(std::string_view path) const {
  Decision decision;
  std::size_t longest = 0;
  bool is_engines = false;
  auto const look = [&](Bucket const& bucket) {
    for (Entry const& entry : bucket) {
      std::size_t const size = entry.prefix.size();
      if (!begins_with(path, entry.prefix) ||
          (!entry.is_open && path.size() > size && path[size] != '/')) {
        continue;
      }
      is_engines = is_engines || entry.is_engines;
      if (size >= longest) {
        longest = size;
        decision.access = entry.access;
      }
    }
  };
  look(buckets_[kWithoutLetter]);
  if (path.size() > 1) {
    look(buckets_[bucket_of(path)]);
  }
  decision.is_control = is_engines || decision.access != Access::relay;
  return decision;
}

bool same_secret(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    char const other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(expected[i] ^ other);
  }
  return difference == 0;
}

}  // namespace lastcall::relay
