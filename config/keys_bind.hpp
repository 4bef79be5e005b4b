// Binds rows of the key table to members. Internal to the files that write rows.
#pragma once

#include <chrono>
#include <type_traits>
#include <utility>

#include "config/keys.hpp"

namespace lastcall::config {

constexpr Range within(Duration minimum, Duration maximum) {
  return {minimum.count(), maximum.count()};
}

template <class Enum>
Choice choice(Enum& at, std::span<std::string_view const> names) {
  return {names, [&at] { return static_cast<std::size_t>(at); },
          [&at](std::size_t index) { at = static_cast<Enum>(index); }};
}

template <class Element>
Items items(std::vector<Element>& list) {
  return {[&list] { return list.size(); }, [&list](std::size_t i) { return keys_of(list[i]); },
          [&list] { return keys_of(list.emplace_back()); }, [&list] { list.clear(); },
          [] { return true; }};
}

template <class Element>
Items items(std::optional<std::vector<Element>>& list) {
  return {[&list] { return list ? list->size() : 0; },
          [&list](std::size_t i) { return keys_of((*list)[i]); },
          [&list] {
            if (!list) {
              list.emplace();
            }
            return keys_of(list->emplace_back());
          },
          [&list] { list.emplace(); }, [&list] { return list.has_value(); }};
}

/// The alternative of `variant` that holds a T; `rows` binds T's keys.
template <class T, class Variant, class Rows>
Alternative alternative(Variant& variant, std::string_view name, std::string_view doc, Rows rows) {
  return {name, doc, [&variant, rows] {
            if (!std::holds_alternative<T>(variant)) {
              variant.template emplace<T>();
            }
            return rows(std::get<T>(variant));
          }};
}

}  // namespace lastcall::config
