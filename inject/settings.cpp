#include "inject/settings.hpp"

#include <algorithm>
#include <utility>

#include "base/words.hpp"
#include "config/problem.hpp"

namespace lastcall::inject {
namespace {

config::Node const* look(config::Node const& root, std::string_view path) {
  config::Node const* at = &root;
  while (at != nullptr && !path.empty()) {
    std::string_view const key = take_part(path, '.');
    auto const found = std::find_if(at->entries.begin(), at->entries.end(),
                                    [&](config::Entry const& entry) { return entry.key == key; });
    at = found == at->entries.end() ? nullptr : &found->value;
  }
  return at;
}

/// Whether an entry for `prefix` covers `key`: it is the same key, or a section that contains it.
bool covers(std::string_view prefix, std::string_view key) {
  return key == prefix || (key.starts_with(prefix) && key[prefix.size()] == '.');
}

}  // namespace

Settings::Settings(std::string_view file, std::vector<std::string> const& overrides) {
  config::Problems ignored;
  if (!file.empty()) {
    file_ = config::parse_document(file, "", ignored);
  }
  for (std::string const& override : overrides) {
    std::size_t const equals = std::min(override.find('='), override.size());
    set(override.substr(0, equals), override.substr(std::min(equals + 1, override.size())));
  }
}

void Settings::set(std::string key, std::string value) {
  given_[std::move(key)] = std::move(value);
}

void Settings::suggest(std::string const& key, std::string value) {
  if (!has(key)) {
    set(key, std::move(value));
  }
}

bool Settings::has(std::string_view key) const {
  return look(file_, key) != nullptr ||
         std::any_of(given_.begin(), given_.end(),
                     [&](auto const& each) { return covers(each.first, key); });
}

std::string Settings::get(std::string_view key) const {
  auto const found = given_.find(key);
  if (found != given_.end()) {
    return found->second;
  }
  config::Node const* const node = look(file_, key);
  return node != nullptr && node->kind == config::Node::Kind::scalar ? node->text : std::string();
}

std::vector<std::string> Settings::texts_of_items(std::string_view list,
                                                  std::string_view key) const {
  std::vector<std::string> texts;
  if (config::Node const* const items = look(file_, list)) {
    for (config::Node const& item : items->items) {
      config::Node const* const node = look(item, key);
      if (node != nullptr && node->kind == config::Node::Kind::scalar) {
        texts.push_back(node->text);
      }
    }
  }
  return texts;
}

std::vector<std::string> Settings::overrides() const {
  std::vector<std::string> words;
  for (auto const& [key, value] : given_) {
    words.push_back(key + "=" + value);
  }
  return words;
}

}  // namespace lastcall::inject
