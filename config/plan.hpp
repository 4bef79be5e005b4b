// The timeline of a stop that a configuration gives: what `lastcall plan` prints.
//
// Rules:
//  1. Every number is lifecycle::Budgets'; nothing is calculated here but the order.
//  2. Instants count from the cause of the stop.
//  3. A phase that ends early gives its time to the next: the rows are the latest instants.
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
