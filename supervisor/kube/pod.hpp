// A pod as a rollout sees it, from the API server's JSON.
//
// Pure, no thread rule. Source: core/v1 Pod; a container's `state` is its present life, `lastState`
// the one before.
#pragma once

#include <string>
#include <vector>

#include "supervisor/kube/json.hpp"
#include "supervisor/kube/stop_report.hpp"

namespace lastcall::kube {

struct Pod {
  std::string name;
  std::string uid;
  std::string ip;
  std::string port = "7090";  // of the supervisor's probes
  bool is_ready = false;
  bool is_ending = false;                   // has a deletionTimestamp
  bool has_run = false;                     // a container of it has run at some time
  std::vector<StopReport> final_reports;    // of containers that have ended
  std::vector<StopReport> earlier_reports;  // of lives before the present ones
};

Pod read_pod(Json const& json);

}  // namespace lastcall::kube
