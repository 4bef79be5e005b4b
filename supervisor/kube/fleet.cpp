#include "supervisor/kube/fleet.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lastcall::kube {
namespace {

constexpr auto const& kOutcomes = lifecycle::vocabulary::kWordsOf<lifecycle::Outcome>;

std::string counted(std::uint64_t number, std::string const& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

bool is_lost(std::size_t outcome) {
  return outcome == static_cast<std::size_t>(lifecycle::Outcome::lost) ||
         outcome == static_cast<std::size_t>(lifecycle::Outcome::engine_dead);
}

std::uint64_t total_of(Verdict const& verdict) {
  std::uint64_t total = verdict.lost;
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    total += is_lost(i) ? 0 : verdict.requests.at(i);
  }
  return total;
}

bool is_always_shown(std::string_view outcome) {
  return outcome == "completed" || outcome == "migrated";
}

}  // namespace

std::string to_text(Verdict const& verdict) {
  std::string text =
      counted(verdict.pods, "pod") + ", " + counted(total_of(verdict), "request") + ":";
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    std::uint64_t const count = verdict.requests.at(i);
    if (!is_lost(i) && (count > 0 || is_always_shown(kOutcomes.at(i)))) {
      text += " " + std::to_string(count) + " " + std::string(kOutcomes.at(i)) + ",";
    }
  }
  text += " " + std::to_string(verdict.lost) + " lost";
  if (verdict.failures > 0) {
    text += "; " + counted(verdict.failures, "engine") + " failed";
  }
  if (verdict.never_ran > 0) {
    text += "; " + counted(verdict.never_ran, "pod") + " never ran";
  }
  for (std::string const& name : verdict.unknown) {
    text += (&name == &verdict.unknown.front() ? "; unknown: " : ", ") + name;
  }
  return text;
}

std::string to_json(Verdict const& verdict, bool is_over) {
  Json requests = Json::object();
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    requests[std::string(kOutcomes.at(i))] = verdict.requests.at(i);
  }
  return json::dump(Json{{"ok", is_over && verdict.is_good()},
                         {"over", is_over},
                         {"pods", verdict.pods},
                         {"never_ran", verdict.never_ran},
                         {"failures", verdict.failures},
                         {"requests", std::move(requests)},
                         {"lost", verdict.lost},
                         {"unknown", verdict.unknown}});
}

void Fleet::begin(std::vector<Pod> const& pods) {
  for (Pod const& pod : pods) {
    Member& member = members_[pod.uid];
    member.was_there = true;
    for (StopReport const& report : pod.earlier_reports) {
      member.seen.insert(report.text);
    }
    if (!pod.is_ending) {  // a container failed and will be restarted
      for (StopReport const& report : pod.final_reports) {
        member.seen.insert(report.text);
      }
    }
    take(member, pod);
  }
}

void Fleet::take(Member& member, Pod const& pod) {
  for (auto const* const reports : {&pod.earlier_reports, &pod.final_reports}) {
    for (StopReport const& report : *reports) {
      if (member.seen.insert(report.text).second) {
        member.reports.push_back(report);
      }
    }
  }
  bool const had_run = member.last.has_run;
  member.last = pod;
  member.last.has_run = pod.has_run || had_run;
  member.has_final = !pod.final_reports.empty();
}

void Fleet::observe(Pod const& pod) {
  take(members_[pod.uid], pod);
}

bool Fleet::end(Pod const& pod) {
  take(members_[pod.uid], pod);
  return ended_.insert(pod.uid).second;
}

std::vector<Pod> Fleet::replace(std::vector<Pod> const& pods) {
  std::set<std::string> there;
  for (Pod const& pod : pods) {
    observe(pod);
    there.insert(pod.uid);
  }
  std::vector<Pod> gone;
  for (auto const& [uid, member] : members_) {
    if (!there.contains(uid) && ended_.insert(uid).second) {
      gone.push_back(member.last);
    }
  }
  return gone;
}

void Fleet::add(std::string const& uid, StopReport report) {
  Member& member = members_[uid];
  if (member.seen.insert(report.text).second) {
    member.reports.push_back(std::move(report));
    member.has_final = true;
  }
}

bool Fleet::is_any_ending() const {
  for (auto const& [uid, member] : members_) {
    if (member.last.is_ending && !ended_.contains(uid)) {
      return true;
    }
  }
  return false;
}

bool Fleet::is_any_left_of_the_begin() const {
  for (auto const& [uid, member] : members_) {
    if (member.was_there && !ended_.contains(uid)) {
      return true;
    }
  }
  return false;
}

bool Fleet::is_level_with(std::vector<Pod> const& pods) const {
  std::set<std::string> there;
  for (Pod const& pod : pods) {
    if (pod.is_ending) {
      return false;
    }
    there.insert(pod.uid);
  }
  return std::all_of(members_.begin(), members_.end(), [&](auto const& each) {
    return there.contains(each.first) || ended_.contains(each.first);
  });
}

std::vector<Pod> Fleet::silent() const {
  std::vector<Pod> silent;
  for (std::string const& uid : ended_) {
    Member const& member = members_.at(uid);
    if (member.last.has_run && !member.has_final) {
      silent.push_back(member.last);
    }
  }
  return silent;
}

std::vector<StopReport> Fleet::reports_of(std::string const& uid) const {
  auto const found = members_.find(uid);
  return found == members_.end() ? std::vector<StopReport>() : found->second.reports;
}

Verdict Fleet::verdict() const {
  Verdict verdict;
  for (auto const& [uid, member] : members_) {
    bool const has_ended = ended_.contains(uid);
    if (has_ended && !member.last.has_run) {
      ++verdict.never_ran;
      continue;
    }
    verdict.pods += has_ended ? 1 : 0;
    bool is_known = member.has_final || !has_ended;
    for (StopReport const& report : member.reports) {
      is_known = is_known && report.is_known;
      verdict.failures += report.is_graceful ? 0 : 1;
      verdict.lost += report.lost();
      for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
        verdict.requests.at(i) += report.requests.at(i);
      }
    }
    if (!is_known) {
      verdict.unknown.push_back(member.last.name);
    }
  }
  return verdict;
}

}  // namespace lastcall::kube
