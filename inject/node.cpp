#include "inject/node.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/words.hpp"

namespace lastcall::inject {

config::Place place_at(std::string_view text, std::size_t at, std::string const& source) {
  std::string_view const before = text.substr(0, std::min(at, text.size()));
  std::size_t const line_end = before.rfind('\n');
  std::size_t const column = line_end == kNowhere ? before.size() : before.size() - line_end - 1;
  return {source, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(column) + 1};
}

config::Place LineIndex::place_at(std::size_t at, std::string const& source) {
  if (begins_.empty()) {
    begins_.push_back(0);
    for (std::size_t end = text_.find('\n'); end != kNowhere; end = text_.find('\n', end + 1)) {
      begins_.push_back(end + 1);
    }
  }
  at = std::min(at, text_.size());
  auto const line = std::prev(std::upper_bound(begins_.begin(), begins_.end(), at));
  return {source, static_cast<int>(line - begins_.begin()) + 1, static_cast<int>(at - *line) + 1};
}

Entry const* find_entry(Node const& map, std::string_view key) {
  auto const found = std::find_if(map.entries.begin(), map.entries.end(), [&](Entry const& entry) {
    return entry.key.kind == Node::Kind::scalar && entry.key.text == key;
  });
  return found == map.entries.end() ? nullptr : &*found;
}

Node const* find(Node const& map, std::string_view key) {
  Entry const* const entry = find_entry(map, key);
  return entry == nullptr ? nullptr : &entry->value;
}

Node const* find_path(Node const& map, std::string_view path) {
  Node const* at = &map;
  while (at != nullptr && !path.empty()) {
    at = find(*at, take_part(path, '.'));
  }
  return at;
}

bool is_true(Node const* node) {
  constexpr std::array<std::string_view, 11> kWords{"true", "True", "TRUE", "yes", "Yes", "YES",
                                                    "on",   "On",   "ON",   "y",   "Y"};
  return node != nullptr && !node->is_quoted &&
         std::find(kWords.begin(), kWords.end(), node->text) != kWords.end();
}

std::string_view text_of(Node const& map, std::string_view key) {
  Node const* const node = find(map, key);
  return node != nullptr && node->kind == Node::Kind::scalar ? std::string_view(node->text)
                                                             : std::string_view();
}

Node const* find_named(Node const* list, std::string_view name) {
  if (list == nullptr) {
    return nullptr;
  }
  auto const found = std::find_if(list->items.begin(), list->items.end(),
                                  [&](Node const& item) { return text_of(item, "name") == name; });
  return found == list->items.end() ? nullptr : &*found;
}

bool same(Node const& one, Node const& other) {
  if (one.kind != other.kind || one.text != other.text || one.is_quoted != other.is_quoted ||
      one.items.size() != other.items.size() || one.entries.size() != other.entries.size()) {
    return false;
  }
  for (std::size_t i = 0; i < one.items.size(); ++i) {
    if (!same(one.items[i], other.items[i])) {
      return false;
    }
  }
  for (std::size_t i = 0; i < one.entries.size(); ++i) {
    if (!same(one.entries[i].key, other.entries[i].key) ||
        !same(one.entries[i].value, other.entries[i].value)) {
      return false;
    }
  }
  return true;
}

}  // namespace lastcall::inject
