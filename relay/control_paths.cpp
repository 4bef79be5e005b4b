#include "relay/control_paths.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

constexpr std::size_t kWithoutLetter = 32;

/// The five bits of a letter that do not depend on its case.
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

/// The kinds of bytes in a path; one look-up per byte, because a path may have 8 KiB.
enum class PathByte : std::uint8_t {
  text,
  slash,
  mark,  // ends a segment as a slash does, or begins its parameters
  escape,
  control,
};

constexpr std::array<PathByte, 256> classify_path_bytes() {
  std::array<PathByte, 256> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i] = i < 0x20 || i == 0x7f ? PathByte::control : PathByte::text;
  }
  kinds['/'] = PathByte::slash;
  kinds['\\'] = kinds[';'] = PathByte::mark;
  kinds['%'] = PathByte::escape;
  return kinds;
}
constexpr auto kPathBytes = classify_path_bytes();

PathByte kind_of(char c) {
  return kPathBytes[static_cast<unsigned char>(c)];
}

/// Whether the path is written plainly, so that it means what it spells.
bool is_plain(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    PathByte const kind = kind_of(path[i]);
    if (kind == PathByte::text) {
      continue;
    }
    bool const is_followed = i + 1 < path.size();
    if (kind != PathByte::slash || (is_followed && (path[i + 1] == '/' || path[i + 1] == '.'))) {
      return false;
    }
  }
  return true;
}

/// Decoded bytes may form another escape, so they are examined as they are written. The whole takes
/// no more steps than there are bytes from the first escape on.
std::string decoded(std::string_view path, std::size_t first_escape) {
  constexpr std::size_t kBefore = 3;  // there is no escape before the first byte
  std::string out(kBefore + path.size(), '\0');
  path.copy(out.data() + kBefore, first_escape);
  char* end = out.data() + kBefore + first_escape;
  for (char const c : path.substr(first_escape)) {
    *end++ = c;
    while (end[-3] == '%') {
      int const code = http_text::hex_code(end[-2], end[-1]);
      if (code < 0) {
        break;
      }
      end -= 2;
      end[-1] = static_cast<char>(code);
    }
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
  out.erase(0, kBefore);
  return out;
}

/// The meaning of a path: its segments without their parameters, each after one slash. Only the
/// beginning of a long path is kept, because that decides; dot segments are looked for in all of
/// it.
class Meaning {
 public:
  explicit Meaning(std::size_t most) : most_(most) {}

  /// Returns false if there is a dot segment or a control character.
  bool take(std::string_view bytes) {
    bool is_parameter = false;  // up to the end of its segment
    std::size_t begin = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      PathByte const kind = kind_of(bytes[at]);
      if (kind == PathByte::text || kind == PathByte::escape) {
        continue;
      }
      if (kind == PathByte::control || !take_part(bytes.substr(begin, at - begin), is_parameter)) {
        return false;
      }
      is_parameter = bytes[at] == ';';
      begin = at + 1;
    }
    return take_part(bytes.substr(begin), is_parameter);
  }

  std::string_view text() const { return text_.empty() ? std::string_view("/") : text_; }

 private:
  bool take_part(std::string_view part, bool is_parameter) {
    return part.empty() || is_parameter || take_segment(part);
  }

  bool take_segment(std::string_view segment) {
    bool const is_dots = segment.front() == '.' &&
                         (segment.size() == 1 || (segment.size() == 2 && segment[1] == '.'));
    if (!is_dots && text_.size() < most_) {
      text_ += '/';
      text_ += segment.substr(0, most_ - text_.size());
    }
    return !is_dots;
  }

  std::size_t const most_;
  std::string text_;
};

}  // namespace

ControlPaths::ControlPaths(std::vector<ControlPath> paths) {
  for (ControlPath const& path : paths) {
    Entry entry{.prefix = path.path,
                .is_open = path.path.ends_with('*'),
                .access = path.access,
                .is_engines = path.is_engines,
                .rest = path.rest};
    if (entry.is_open) {
      entry.prefix.pop_back();
    } else {
      entry.prefix = without_last_slash(entry.prefix);
    }
    most_ = std::max(most_, entry.prefix.size() + 1);
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
  Meaning meaning(most_);
  std::size_t const escape = path.find('%');
  bool const is_escaped = escape != std::string_view::npos;
  if (!(is_escaped ? meaning.take(decoded(path, escape)) : meaning.take(path))) {
    return {.is_ambiguous = true};
  }
  return look_up(meaning.text());
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
        decision.rest = entry.rest;
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

}  // namespace lastcall::relay
