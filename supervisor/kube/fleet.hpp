// The pods of a rollout from its start to its end, and the effects of their stops on requests.
//
// Invariants:
//  1. A pod that ended is counted once, with every stop that it reported since the start; a report
//     that already existed at the start, about an earlier life, is not counted.
//  2. A pod that ended without a report of what was in flight is unknown: it may have lost
//     requests, so it never counts as a success.
//  3. A pod in which no engine's container ever ran had no requests and is not counted.
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
  std::uint64_t pods = 0;       // how many ended
  std::uint64_t never_ran = 0;  // how many never ran; they are not in `pods`
  std::uint64_t failures = 0;   // stops that were not graceful
  std::array<std::uint64_t, lifecycle::kOutcomes> requests{};
  std::uint64_t lost = 0;            // includes those that died with their engine, or were cut
  std::vector<std::string> unknown;  // the names of pods

  bool is_good() const { return lost == 0 && unknown.empty(); }
};

/// "37 pods, 4120 requests: 4118 completed, 2 migrated, 0 lost".
std::string to_text(Verdict const& verdict);
std::string to_json(Verdict const& verdict, bool is_over);

class Fleet {
 public:
  /// Takes the pods that existed when the watch began.
  void begin(std::vector<Pod> const& pods);
  void observe(Pod const& pod);
  /// Takes the last state of a pod. False if it had already ended.
  bool end(Pod const& pod);
  /// Takes a new list of all pods after changes were missed; returns the pods that are gone.
  std::vector<Pod> replace(std::vector<Pod> const& pods);
  /// Adds a report for a pod that ended without one.
  void add(std::string const& uid, StopReport report);

  bool has_any_ended() const { return !ended_.empty(); }
  bool is_any_ending() const;
  bool is_any_left_of_the_begin() const;
  /// Whether the state here is as new as this list: no pod in the list is ending, and the pods that
  /// it lacks have ended here.
  bool is_level_with(std::vector<Pod> const& pods) const;
  /// The pods that ended without a report of their end.
  std::vector<Pod> silent() const;
  std::vector<StopReport> reports_of(std::string const& uid) const;
  Verdict verdict() const;

 private:
  struct Member {
    Pod last;
    bool was_there = false;
    bool has_final = false;
    std::vector<StopReport> reports;
    std::set<std::string> seen;  // the reports' texts, so that each is taken once
  };

  void take(Member& member, Pod const& pod);

  std::map<std::string, Member> members_;  // by uid
  std::set<std::string> ended_;            // uids
};

}  // namespace lastcall::kube
