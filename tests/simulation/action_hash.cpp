#include "tests/simulation/action_hash.hpp"

#include "core/mixer.hpp"
#include "core/shapes.hpp"

namespace lastcall::simulation {
namespace {

using lifecycle::Mixer;
using lifecycle::Shape;

/// Mixes every member of an order, whatever their names.
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
    requires requires { Shape<T>::kName; }
  void add(T const& value) {
    Shape<T>::visit(value, *this);
  }
  void add(auto const& value) { mixer.put(value); }
};

}  // namespace

std::uint64_t hash_of(std::span<lifecycle::Action const> actions) {
  Mixer mixer{lifecycle::Instant{}};
  MemberMixer members{mixer};
  for (lifecycle::Action const& action : actions) {
    mixer.put(action.index());
    std::visit([&](auto const& order) { members.add(order); }, action);
  }
  return mixer.hash;
}

}  // namespace lastcall::simulation
