#include "supervisor/kube/rollout_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ostream>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/error_text.hpp"
#include "base/visible_text.hpp"
#include "supervisor/cli/command_line.hpp"

namespace lastcall::kube {
namespace {

using json::member;
using json::text;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kRound{3};  // how long one watch takes before the workload is checked
constexpr seconds kAskPatience{20};
constexpr milliseconds kBetweenTries{1'000};

std::vector<Pod> pods_in(std::vector<Json> const& items) {
  std::vector<Pod> pods;
  pods.reserve(items.size());
  for (Json const& item : items) {
    pods.push_back(read_pod(item));
  }
  return pods;
}

std::string line_of(Pod const& pod, std::vector<StopReport> const& reports) {
  if (!pod.has_run) {
    return pod.name + ": never ran";
  }
  if (reports.empty()) {
    return pod.name + ": ended, and no report is left";
  }
  Verdict one{.pods = 1};
  for (StopReport const& report : reports) {
    one.lost += report.lost();
    for (std::size_t i = 0; i < report.requests.size(); ++i) {
      one.requests.at(i) += report.requests.at(i);
    }
  }
  std::string const counts = to_text(one);
  bool const is_known = std::all_of(reports.begin(), reports.end(),
                                    [](StopReport const& report) { return report.is_known; });
  return pod.name + ": " + visible(reports.back().cause) + ": " +
         counts.substr(counts.find(", ") + 2) + (is_known ? "" : "; what was in flight is unknown");
}

}  // namespace

std::string path_of(ApiServer const& api, WorkloadName const& workload) {
  return api.path(workload.kind->group, std::string(workload.kind->plural) + "/" + workload.name);
}

RolloutWatch::RolloutWatch(ApiServer& api, Target target, milliseconds timeout, bool json,
                           std::ostream& out, std::ostream& err)
    : api_(api),
      target_(std::move(target)),
      deadline_(TimePoint::clock::now() + timeout),
      json_(json),
      out_(out),
      err_(err),
      query_("labelSelector=" + escaped(target_.selector)) {}

/// Prints the failure of a call unless it was printed already; an empty text ends it.
void RolloutWatch::note(std::string_view call, std::string const& error) {
  std::string& last = reported_[call];
  if (!error.empty() && error != last) {
    err_ << "lastcall rollout watch: " << error << std::endl;
  }
  last = error;
}

/// False if the API server did not return the list.
bool RolloutWatch::list_again(bool is_first) {
  ListAnswer const listed = api_.list(api_.path("v1", "pods"), query_);
  note("list", listed.error);
  if (!listed.error.empty()) {
    return false;
  }
  version_ = listed.version;
  if (is_first) {
    fleet_.begin(pods_in(listed.items));
    return true;
  }
  for (Pod const& pod : fleet_.replace(pods_in(listed.items))) {
    report(pod);
  }
  return true;
}

void RolloutWatch::report(Pod const& pod) {
  look_for_events();
  if (!json_) {
    out_ << line_of(pod, fleet_.reports_of(pod.uid)) << std::endl;
  }
}

/// Reads the reports of pods whose last state was not seen from their Events.
void RolloutWatch::look_for_events() {
  for (Pod const& pod : fleet_.silent()) {
    ListAnswer const events = api_.list(
        api_.path("v1", "events"), "fieldSelector=" + escaped("involvedObject.uid=" + pod.uid));
    note("events", events.error);
    for (Json const& event : events.items) {
      auto report = read_event(text(member(event, "reason")), text(member(event, "message")));
      if (report) {
        fleet_.add(pod.uid, std::move(*report));
      }
    }
  }
}

/// False if it is time to check whether the rollout is over.
bool RolloutWatch::take(std::string const& type, Json const& object) {
  Pod const pod = read_pod(object);
  if (type != "DELETED") {
    fleet_.observe(pod);
    return true;
  }
  if (fleet_.end(pod)) {
    report(pod);
  }
  return fleet_.is_any_ending();
}

void RolloutWatch::follow() {
  auto const began = TimePoint::clock::now();
  Watched const watched =
      api_.watch(api_.path("v1", "pods"), query_, version_, std::min(deadline_, began + kRound),
                 [this](std::string const& type, Json const& pod) { return take(type, pod); });
  note("watch", watched.error);
  if (watched.end != WatchEnd::enough && TimePoint::clock::now() - began < kBetweenTries) {
    wait_for_command();
  }
  if (watched.end == WatchEnd::too_old || watched.end == WatchEnd::failed) {
    list_again(false);
  }
}

/// Waits before the API server is asked again: at most kBetweenTries, and not beyond the command's
/// end or the deadline, which may be the only thing left to report.
void RolloutWatch::wait_for_command() const {
  auto const left = std::chrono::ceil<milliseconds>(deadline_ - TimePoint::clock::now());
  Descriptor const child(
      command_ == Command::runs ? static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)) : -1);
  pollfd ended{child.get(), POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(std::clamp(left, milliseconds(0), kBetweenTries).count()));
}

bool RolloutWatch::is_over() {
  if (!fleet_.has_any_ended() || fleet_.is_any_ending()) {
    return false;
  }
  if (!target_.workload) {
    return !fleet_.is_any_left_of_the_begin();
  }
  Answer const answer = api_.get(path_of(api_, *target_.workload), kAskPatience);
  note("workload", answer.error);
  if (!answer.is_good() || !target_.workload->kind->is_over(answer.json())) {
    return false;
  }
  // The watch may be behind the workload and may still have to report the last state of a pod.
  ListAnswer const now = api_.list(api_.path("v1", "pods"), query_);
  return now.error.empty() && fleet_.is_level_with(pods_in(now.items));
}

void RolloutWatch::start(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) {
    words.push_back(word.data());
  }
  words.push_back(nullptr);
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // our standard output is only for the verdict
    ::execvp(words.front(), words.data());
    err_ << "lastcall rollout watch: cannot run " << command.front() << ": " << error_text(errno)
         << std::endl;
    ::_exit(127);
  }
  command_ = child_ > 0 ? Command::runs : Command::failed;
}

void RolloutWatch::look_at_command() {
  int status = 0;
  if (command_ != Command::runs || ::waitpid(child_, &status, WNOHANG) != child_) {
    return;
  }
  command_ = status == 0 ? Command::done : Command::failed;
  if (command_ == Command::failed) {
    err_ << "lastcall rollout watch: the command failed"
         << (WIFEXITED(status) ? " with " + std::to_string(WEXITSTATUS(status)) : "") << std::endl;
  }
}

int RolloutWatch::finish(bool is_over) {
  look_for_events();
  Verdict const verdict = fleet_.verdict();
  out_ << (json_ ? to_json(verdict, is_over) : to_text(verdict)) << '\n';
  if (!is_over && command_ != Command::failed) {
    err_ << "lastcall rollout watch: "
         << (fleet_.has_any_ended() ? "the rollout is not over" : "no rollout was seen")
         << ", --timeout sets how long to wait\n";
  }
  return is_over && verdict.is_good() ? cli::kExitSuccess : 1;
}

int RolloutWatch::run(std::vector<std::string> const& command) {
  if (!list_again(true)) {
    return 1;
  }
  if (!command.empty()) {
    start(command);
  }
  while (TimePoint::clock::now() < deadline_ && command_ != Command::failed) {
    follow();
    look_at_command();
    if (command_ != Command::runs && command_ != Command::failed && is_over()) {
      return finish(true);
    }
  }
  return finish(false);
}

}  // namespace lastcall::kube
