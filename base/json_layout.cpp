#include "base/json_layout.hpp"

#include <cstring>

#include "base/json_scanner.hpp"

namespace lastcall::json {
namespace {

/// A usual event is much smaller. A larger one has ids of a prompt or many logprobs, and reading
/// their names is not what it costs.
constexpr std::size_t kMostBytes = 2048;
constexpr std::size_t kMostParts = 64;

/// The value as it is in the text.
std::string_view written(Value const& value) {
  return value.kind == Kind::string ? std::string_view(value.text.data() - 1, value.text.size() + 2)
                                    : value.text;
}

bool has_its_list(std::string_view value, Inner const& inner) {
  if (inner.members->empty()) {
    return false;
  }
  char const* const key = inner.members->front().key.data();
  return key >= value.data() && key < value.data() + value.size();
}

}  // namespace

void Layout::learn(std::string_view text, std::vector<Member>& members,
                   std::span<Inner const> inner) {
  forget();
  if (text.size() > kMostBytes) {
    return;
  }
  text_ = text;
  wholes_.clear();
  char const* from = text.data();
  add(from, members, inner, 1);
  if (parts_.size() > kMostParts) {
    forget();
  }
  ends_.resize(parts_.size());
}

void Layout::add(char const*& from, std::vector<Member>& members, std::span<Inner const> inner,
                 int depth) {
  auto const distance = [](char const* begin, char const* end) {
    return static_cast<std::uint32_t>(end - begin);
  };
  for (Member& member : members) {
    Inner const* const wanted = wanted_of(inner, member.key);
    std::string_view const value = wanted == nullptr ? written(member.value) : member.value.text;
    auto const number = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back({.member = &member,
                      .key = distance(from, member.key.data()),
                      .before = distance(from, value.data()),
                      .size = distance(value.data(), value.data() + value.size()),
                      .depth = wanted == nullptr ? depth : 0});
    char const* const end = value.data() + value.size();
    if (wanted == nullptr) {
      from = end;
      continue;
    }
    from = value.data();
    if (has_its_list(value, *wanted)) {
      bool const is_element = wanted->place == Inner::Place::first_element;
      add(from, *wanted->members, wanted->inner, depth + (is_element ? 2 : 1));
    }
    wholes_.push_back({.part = number,
                       .last = static_cast<std::uint32_t>(parts_.size() - 1),
                       .rest = distance(from, end)});
  }
}

bool Layout::follow(std::string_view text) {
  if (parts_.empty()) {
    return false;
  }
  Scanner scanner(text);
  char const* at = text.data();
  char const* const end = at + text.size();
  char const* learnt = text_.data();
  auto const is_same = [&](std::size_t size) {
    return static_cast<std::size_t>(end - at) >= size && std::memcmp(at, learnt, size) == 0;
  };
  char const** part_end = ends_.data();
  for (Part const& part : parts_) {
    if (!is_same(part.before)) {
      return false;
    }
    Member& member = *part.member;
    member.key = {at + part.key, member.key.size()};
    at += part.before;
    learnt += part.before;
    if (part.depth > 0) {
      at = scanner.value(at, part.depth, member.value);
      if (at == nullptr) {
        return false;
      }
      learnt += part.size;
    }
    *part_end++ = at;
  }
  for (Whole const& whole : wholes_) {
    char const* const begin = ends_[whole.part];
    char const* const its_end = ends_[whole.last] + whole.rest;
    parts_[whole.part].member->value.text = {begin, static_cast<std::size_t>(its_end - begin)};
  }
  auto const rest = static_cast<std::size_t>(text_.data() + text_.size() - learnt);
  return static_cast<std::size_t>(end - at) == rest && is_same(rest);
}

}  // namespace lastcall::json
