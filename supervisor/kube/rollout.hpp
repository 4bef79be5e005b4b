// `lastcall rollout`: the view of a fleet. `status` shows what the pods of a workload do now;
// `watch` follows them through a rollout and ends with one line that sums up their drain reports.
//
// Rules:
//  1. Everything comes from the API server: reports come from the pods' states while they end and
//     from their Events, `status` comes through its proxy from the supervisors' probe ports. It
//     only reads.
//  2. A report disappears with its pod, so it is lost if nobody watches. Therefore the watch begins
//     before the command after `--` is started.
//  3. Exit code 0: the rollout is over, every pod that ended reported the outcome of its requests,
//     and none was lost. 1: one was lost, a pod is unknown, or the rollout did not end (or did not
//     begin) in time. 2: bad usage, no access.
//
// Thread rule: main's thread.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

#include "supervisor/kube/access.hpp"

namespace lastcall::kube {

struct RolloutOptions {
  AccessOptions access;
  std::string verb;      // status or watch
  std::string workload;  // KIND/NAME
  std::string selector;  // or the labels of the pods
  std::string timeout = "30m";
  bool json = false;
  std::vector<std::string> command;  // makes the rollout; may be empty
};

int run_rollout(RolloutOptions const& options, config::Environment const& environment,
                std::ostream& out, std::ostream& err);

}  // namespace lastcall::kube
