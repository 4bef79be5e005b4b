// The change that a message makes to a setting.
//
// Values only, no thread rule. Source: docs/ipc.md, 'admission.set' and 'thresholds.set'.
#pragma once

#include <cstdint>

namespace lastcall {

/// A setting that may be left alone (key absent), cleared (null) or set.
template <typename T>
struct Change {
  enum class Kind : std::uint8_t { keep, clear, set };
  Kind kind{Kind::keep};
  T value{};
  friend bool operator==(Change const&, Change const&) = default;
};

}  // namespace lastcall
