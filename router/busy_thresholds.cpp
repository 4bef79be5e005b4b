#include "router/busy_thresholds.hpp"

#include <set>
#include <utility>

namespace lastcall::router {

void BusyThresholds::configure(std::vector<ThresholdRule> const& rules, Duration max_age) {
  BusyThresholds const before = *this;
  configured_.clear();
  configured_[""] = {.max_age = max_age};
  for (ThresholdRule const& rule : rules) {
    lifecycle::LoadThresholds& row = configured_[rule.model];
    row.max_age = max_age;
    row.prefill_tokens = rule.active_prefill_tokens;
    row.ranks = rule.ranks;
    if (rule.active_decode_blocks) {
      row.decode_ppm = lifecycle::millionths(*rule.active_decode_blocks);
    }
  }
  std::erase_if(set_, [&](auto const& each) {
    return before.configured(each.first) != configured(each.first);
  });
}

lifecycle::LoadThresholds BusyThresholds::configured(std::string_view model) const {
  auto found = configured_.find(model);
  found = found != configured_.end() ? found : configured_.find("");
  return found != configured_.end() ? found->second : lifecycle::LoadThresholds{};
}

lifecycle::LoadThresholds BusyThresholds::of(std::string_view model) const {
  auto const found = set_.find(model);
  return found != set_.end() ? found->second : configured(model);
}

void BusyThresholds::set(probes::ThresholdChange const& change) {
  set_.insert_or_assign(change.model, probes::changed(of(change.model), change));
}

probes::ThresholdRow BusyThresholds::row(std::string_view model) const {
  return {.model = std::string(model),
          .thresholds = of(model),
          .holds_for = set_.contains(model) ? kReplica : kAll};
}

std::vector<probes::ThresholdRow> BusyThresholds::rows(
    std::vector<std::string> const& models) const {
  std::set<std::string_view> names(models.begin(), models.end());
  for (auto const* each : {&configured_, &set_}) {
    for (auto const& [model, thresholds] : *each) {
      names.insert(model);
    }
  }
  std::vector<probes::ThresholdRow> rows;
  for (std::string_view const name : names) {
    rows.push_back(row(name));
  }
  return rows;
}

}  // namespace lastcall::router
