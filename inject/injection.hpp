// The injection into one pod's template, and its removal.
//
// Internal to inject. Pure except for Options::check, no thread rule.
#pragma once

#include <optional>

#include "inject/editor.hpp"
#include "inject/inject.hpp"
#include "inject/record.hpp"

namespace lastcall::inject {

/// Collects the edits of one target and the findings about it.
struct Ledger {
  Input const& input;
  LineIndex& lines;
  Target const& target;
  Editor& editor;
  config::Problems& refusals;
  config::Problems& notes;

  void refuse(std::size_t at, std::string text) const;
  void note(std::size_t at, std::string text) const;
};

/// The pod templates that an injection has changed.
std::vector<Target> recorded_targets(Stream const& stream);
/// The record of an earlier injection.
std::optional<Record> record_of(Target const& target);
/// Whether the pod has our sidecar, whatever added it.
bool has_sidecar(Target const& target);

void put_in(Ledger const& ledger, Options const& options);
void take_out(Ledger const& ledger, Record const& record);

}  // namespace lastcall::inject
