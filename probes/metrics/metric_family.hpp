// What is known of one metric family: its name, type, labels and help.
//
// Rules:
//  1. Counters end in _total, gauges never do; units are a suffix, in seconds.
//  2. Help is one line: the serializer does not escape line feeds.
//  3. A label is closed (the code knows all its values), constant (the same for the whole process),
//     or open (others choose the values; LabelGuard caps them). There is no fourth kind.
//
// Pure values, no thread rule. Source: Dynamo's metric names; Prometheus' naming rules.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace lastcall::probes {

/// How long something took; converts from any unit of measurement.
using Seconds = std::chrono::duration<double>;

enum class MetricType : std::uint8_t { counter, gauge, histogram };

struct MetricFamily {
  std::string_view name;
  MetricType type;
  std::string_view labels;  // separated by single spaces; constant ones come first
  std::string_view help;
};

inline constexpr std::array kOpenLabels = std::to_array<std::string_view>(
    {"model", "endpoint", "dynamo_endpoint", "check", "registry", "signal", "code", "dp_rank"});
inline constexpr std::array kConstantLabels = std::to_array<std::string_view>(
    {"dynamo_namespace", "dynamo_component", "worker_id", "version"});

/// Whether the label has the same value in the whole process. `model` is constant in a component's
/// families; in the frontend's it is the request's.
constexpr bool is_constant(MetricFamily const& family, std::string_view label) {
  for (std::string_view const constant : kConstantLabels) {
    if (constant == label) {
      return true;
    }
  }
  return label == "model" && family.labels.starts_with("dynamo_namespace");
}

}  // namespace lastcall::probes
