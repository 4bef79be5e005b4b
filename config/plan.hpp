// The timeline of a stop that a configuration gives: what `lastcall plan` prints.
//
// Rules:
//  1. Every number comes from lifecycle::Budgets; only the order is computed here.
//  2. Instants are relative to the cause of the stop.
//  3. A phase that ends early leaves its time to the next one, so the rows show the latest
//     instants.
//
// Pure values, no thread rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/schema.hpp"
#include "core/budgets.hpp"

namespace lastcall::config {

struct PlanRow {
  Duration at{};
  std::string_view id;  // stable, for JSON
  std::string what;
};

struct Plan {
  PodGrace grace;
  lifecycle::Budgets budgets;
  std::vector<PlanRow> rows;
  std::vector<std::string> warnings;
};

Plan make_plan(Config const& config, PodGrace const& grace);

std::string to_text(Plan const& plan);
std::string to_json(Plan const& plan);

}  // namespace lastcall::config
