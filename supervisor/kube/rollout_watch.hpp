// Watches a rollout: the pods while they end, and the workload until it has its desired state.
//
// Invariants:
//  1. Every change of a pod is handled in the order of the API server's watch. If changes were
//     missed (the server no longer has them), all pods are listed again; the reports of pods that
//     are gone without a last state come from their Events, or these pods are unknown.
//  2. A workload in its desired state proves nothing until one of its pods has ended: the rollout
//     may not have begun. The same is true of pods that the rollout does not touch.
//  3. A server that refuses a call, or ends each watch at once, is asked about once a second; each
//     failure is reported when it begins.
//
// Thread rule: main's thread.
#pragma once

#include <chrono>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "supervisor/kube/api_server.hpp"
#include "supervisor/kube/fleet.hpp"
#include "supervisor/kube/workload.hpp"

namespace lastcall::kube {

struct Target {
  std::optional<WorkloadName> workload;
  std::string selector;
};

std::string path_of(ApiServer const& api, WorkloadName const& workload);

class RolloutWatch {
 public:
  RolloutWatch(ApiServer& api, Target target, std::chrono::milliseconds timeout, bool json,
               std::ostream& out, std::ostream& err);

  int run(std::vector<std::string> const& command);

 private:
  enum class Command { none, runs, done, failed };

  void note(std::string_view call, std::string const& error);
  bool list_again(bool is_first);
  void follow();
  bool take(std::string const& type, Json const& object);
  void report(Pod const& pod);
  void look_for_events();
  bool is_over();
  void start(std::vector<std::string> command);
  void look_at_command();
  void wait_for_command() const;
  int finish(bool is_over);

  ApiServer& api_;
  Target const target_;
  TimePoint const deadline_;
  bool const json_;
  std::ostream& out_;
  std::ostream& err_;
  Fleet fleet_;
  std::string version_;
  std::string query_;
  std::map<std::string_view, std::string> reported_;  // the last failure of each kind of call
  Command command_ = Command::none;
  pid_t child_ = -1;
};

}  // namespace lastcall::kube
