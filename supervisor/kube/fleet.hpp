// The pods of a rollout from its start to its end, and what their stops did to requests.
//
// Invariants:
//  1. A pod that ended is counted once, with every stop that it reported since the start; a report
//     that was there already at the start, of a life that was over then, is not counted.
//  2. A pod that ended without a report of what was in flight is unknown: it is not known what it
//     lost, and ignorance is never success.
//  3. A pod in which no engine's container ever ran had no request: it is not counted.
//
// Pure, no thread rule.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "supervisor/kube/pod.hpp"

namespace lastcall::kube {

struct Verdict {
  std::uint64_t pods = 0;       // that ended
  std::uint64_t never_ran = 0;  // and are not in `pods`
  std::uint64_t failures = 0;   // stops that were not graceful
  std::array<std::uint64_t, lifecycle::kOutcomes> requests{};
  std::uint64_t lost = 0;            // with those that died with their engine, or were cut unseen
  std::vector<std::string> unknown;  // names of pods

  bool is_good() const { return lost == 0 && unknown.empty(); }
};

/// "37 pods, 4120 requests: 4118 completed, 2 migrated, 0 lost".
std::string to_text(Verdict const& verdict);
std::string to_json(Verdict const& verdict, bool is_over);

class Fleet {
 public:
  /// The pods that were there when the watch began.
  void begin(std::vector<Pod> const& pods);
  void observe(Pod const& pod);
  /// With its last state. False: it had ended already.
  bool end(Pod const& pod);
  /// Everything that is there now, after changes were missed; returns those that are gone.
  std::vector<Pod> replace(std::vector<Pod> const& pods);
  /// For a pod that ended without a report.
  void add(std::string const& uid, StopReport report);

  bool has_any_ended() const { return !ended_.empty(); }
  bool is_any_ending() const;
  bool is_any_left_of_the_begin() const;
  /// What was taken is as new as this list: no pod ends in it, and a pod that is missing has ended.
  bool is_level_with(std::vector<Pod> const& pods) const;
  /// Pods that ended without a report of their end.
  std::vector<Pod> silent() const;
  std::vector<StopReport> reports_of(std::string const& uid) const;
  Verdict verdict() const;

 private:
  struct Member {
    Pod last;
    bool was_there = false;
    bool has_final = false;
    std::vector<StopReport> reports;
    std::set<std::string> seen;  // texts, so that each is taken once
  };

  void take(Member& member, Pod const& pod);

  std::map<std::string, Member> members_;  // by uid
  std::set<std::string> ended_;            // uids
};

}  // namespace lastcall::kube
