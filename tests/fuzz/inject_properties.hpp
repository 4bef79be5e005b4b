// What must hold of an injection, whatever the manifests are.
#pragma once

#include <string>
#include <vector>

#include "inject/inject.hpp"

namespace lastcall::fuzz {

/// Returns what is wrong; empty: nothing. A refusal is not a fault, except one without a place or a
/// reason.
inline std::string fault_of(std::string const& manifests, inject::Options const& options) {
  using inject::Outcome;
  auto const of = [](std::string const& text) {
    return std::vector<inject::Input>{{"m.yaml", text}};
  };
  Outcome const once = inject::inject(of(manifests), options);
  if (!once.refusals.empty()) {
    for (config::Problem const& problem : once.refusals) {
      if (problem.text.empty() || problem.place.source.empty()) {
        return "a refusal without a place or a reason";
      }
    }
    return "";
  }
  std::string const& text = once.texts.at(0);
  Outcome const twice = inject::inject(of(text), options);
  if (!twice.refusals.empty() || twice.texts.at(0) != text) {
    return "twice is not once";
  }
  Outcome const clean = inject::uninject(of(manifests), options);
  Outcome const undone = inject::uninject(of(text), options);
  if (clean.refusals.empty() && (!undone.refusals.empty() || undone.texts != clean.texts)) {
    return "not undone byte for byte";
  }
  if (once.changed.empty() && text != manifests) {
    return "changed without a word";
  }
  return "";
}

}  // namespace lastcall::fuzz
