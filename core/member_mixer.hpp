// Mixes every member of an event or action, whatever their names: a hash of the whole value.
//
// Values only, no thread rule.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/mixer.hpp"
#include "core/shapes.hpp"

namespace lastcall::lifecycle {

struct MemberMixer {
  Mixer& mixer;

  void operator()(std::string_view /*name*/, auto const& value) { add(value); }

  template <typename T>
  void add(std::optional<T> const& value) {
    mixer.put(value.has_value());
    if (value) {
      add(*value);
    }
  }
  template <typename T>
  void add(std::vector<T> const& elements) {
    mixer.put(elements.size());
    for (T const& element : elements) {
      add(element);
    }
  }
  void add(Shaped auto const& part) {
    Shape<std::remove_cvref_t<decltype(part)>>::visit(part, *this);
  }
  void add(auto const& value) { mixer.put(value); }
};

/// Mixes which of a variant's kinds it is, and all of its members.
template <typename... Kinds>
void mix(Mixer& mixer, std::variant<Kinds...> const& value) {
  mixer.put(value.index());
  std::visit([&mixer](auto const& kind) { MemberMixer{mixer}.add(kind); }, value);
}

}  // namespace lastcall::lifecycle
