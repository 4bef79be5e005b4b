// The change that a message makes to a setting.
//
// Values only, no thread rule. Source: docs/ipc.md, 'admission.set' and 'thresholds.set'.
#pragma once

#include <cstdint>
#include <optional>

namespace lastcall {

/// A setting that may be left alone (key absent), cleared (null) or set.
template <typename T>
struct Change {
  enum class Kind : std::uint8_t { keep, clear, set };
  Kind kind{Kind::keep};
  T value{};
  friend bool operator==(Change const&, Change const&) = default;
};

/// Makes the change; `to` is absent after it was cleared.
template <typename T, typename Value>
void take_over(std::optional<T>& to, Change<Value> const& change) {
  if (change.kind != Change<Value>::Kind::keep) {
    to = change.kind == Change<Value>::Kind::set ? std::optional(static_cast<T>(change.value))
                                                 : std::nullopt;
  }
}

}  // namespace lastcall
