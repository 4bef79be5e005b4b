// The facts about a pod that a rollout needs, read from the API server's JSON.
//
// Pure, no thread rule. Source: core/v1 Pod; a container's `state` is its current life, `lastState`
// the previous one.
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
  std::string port = "7090";  // the supervisor's probe port
  bool is_ready = false;
  bool is_ending = false;                   // has a deletionTimestamp
  bool has_run = false;                     // one of its containers has run at some time
  std::vector<StopReport> final_reports;    // from containers that have ended
  std::vector<StopReport> earlier_reports;  // from earlier lives of containers
};

Pod read_pod(Json const& json);

}  // namespace lastcall::kube
