#include "tests/simulation/scenario.hpp"

#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

bool is_trace(std::string_view line) {
  return line.starts_with("-> ") || line.starts_with("timer ");
}

bool is_comment(std::string_view line) {
  return line.empty() || line.starts_with("#");
}

class Runner {
 public:
  std::vector<std::string> run(std::string const& command) {
    trace_.clear();
    if (command.starts_with("settings")) {
      settings_ = parse_settings(command);
      restart();
    } else if (command.starts_with("given ")) {
      given(command.substr(6));
    } else if (command.starts_with("at ")) {
      at(command.substr(3));
    } else {
      throw ScenarioError("cannot read '" + command + "': expected settings, given or at");
    }
    return trace_;
  }

  /// Timers that are due before the next command belong to the trace of this one.
  void pass_time_before(std::string const& next) {
    if (next.starts_with("at ")) {
      // `timer late=D`: nothing ran in the last D.
      auto const late = next.find(" timer late=");
      Duration const absent =
          late == std::string::npos ? Duration{0} : parse_duration(next.substr(late + 12));
      run_timers(instant_of(next.substr(3)) - absent);
    }
  }
  std::vector<std::string> take_trace() { return std::exchange(trace_, {}); }

 private:
  static Instant instant_of(std::string_view rest) {
    return parse_instant(rest.substr(0, rest.find(' ')));
  }

  void at(std::string_view rest) {
    now_ = instant_of(rest);
    auto const blank = rest.find(' ');
    if (blank == std::string_view::npos) {
      return;
    }
    std::string const what(rest.substr(blank + 1));
    if (what == "restart") {
      restart();
    } else if (what == "status") {
      trace_.push_back("-> " + status_text(core()));
    } else {
      step(parse_event(what, now_));
    }
  }

  /// The events of a normal start, so that a file shows only what it is about.
  void given(std::string const& state) {
    if (state == "serving_alone") {
      return serving_alone();
    }
    bool const run = state == "serving_run" || state == "loading_run";
    bool const serving = state == "serving" || state == "serving_run";
    if (!serving && state != "loading" && state != "loading_run") {
      throw ScenarioError("cannot read 'given " + state + "'");
    }
    step(SupervisorStarted{});
    step(ShimHello{.boot = "a", .run = run});
    step(EngineStarted{});
    for (std::uint32_t i = 0; serving && i < settings_.health.checks.size(); ++i) {
      step(CheckFinished{.check = i});
    }
    trace_.clear();
  }

  /// Without a shim, as beside an engine in preStop mode.
  void serving_alone() {
    now_ -= kRecoveryWindow;
    step(SupervisorStarted{});
    now_ += kRecoveryWindow;
    step(TimerExpired{});
    for (std::uint32_t i = 0; i < settings_.health.checks.size(); ++i) {
      step(CheckFinished{.check = i});
    }
    trace_.clear();
  }

  void run_timers(Instant until) {
    // A timer that sets itself again at once would turn for ever: the limit makes it a failure.
    for (int i = 0; i < 1000; ++i) {
      auto const due = core().next_deadline();
      if (!due || *due > until) {
        return;
      }
      if (*due < now_) {
        throw ScenarioError("the core's next deadline " + text_of(*due) + " is past");
      }
      now_ = *due;
      trace_.push_back("timer " + text_of(now_));
      step(TimerExpired{});
    }
    throw ScenarioError("the core's timer at " + text_of(now_) + " never ends");
  }

  void step(Event event) {
    if (auto* hello = std::get_if<ShimHello>(&event); hello != nullptr && hello->blob.empty()) {
      hello->blob = blobs_[hello->boot];
    }
    if (auto const* hello = std::get_if<ShimHello>(&event)) {
      boot_ = hello->boot;
    } else if (std::holds_alternative<ShimDisconnected>(event) ||
               std::holds_alternative<ShimGone>(event)) {
      boot_.clear();
    }
    if (auto* record = std::get_if<StopRecordRead>(&event);
        record != nullptr && record->blob.empty()) {
      record->blob = blobs_[boot_];
    }
    auto const actions = core().step(now_, event);
    for (Action const& action : actions) {
      if (auto const* remember = std::get_if<Remember>(&action)) {
        blobs_[boot_] = remember->blob;
      }
    }
    for (std::string const& line : text_of(core(), actions, now_)) {
      trace_.push_back("-> " + line);
    }
  }

  void restart() {
    core_ = std::make_unique<Lifecycle>(settings_);
    boot_.clear();
  }
  Lifecycle& core() {
    if (!core_) {
      restart();
    }
    return *core_;
  }

  Settings settings_;
  std::unique_ptr<Lifecycle> core_;
  Instant now_ = kEpoch;
  std::map<std::string, std::string> blobs_;  // by boot; of no shim: of the stop record
  std::string boot_;                          // of the shim that is connected
  std::vector<std::string> trace_;
};

}  // namespace

Scenario parse_scenario(std::string const& text) {
  Scenario scenario;
  std::vector<std::string> comments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (is_comment(line)) {
      comments.push_back(line);
    } else if (is_trace(line)) {
      if (scenario.steps.empty() || !comments.empty()) {
        throw ScenarioError("cannot read '" + line + "': a trace follows its command at once");
      }
      scenario.steps.back().trace.push_back(line);
    } else {
      scenario.steps.push_back({std::exchange(comments, {}), line, {}});
    }
  }
  scenario.below = std::move(comments);
  return scenario;
}

std::string text_of(Scenario const& scenario) {
  std::string text;
  auto const put = [&text](std::vector<std::string> const& lines) {
    for (std::string const& line : lines) {
      (text += line) += '\n';
    }
  };
  for (ScenarioStep const& step : scenario.steps) {
    put(step.above);
    (text += step.command) += '\n';
    put(step.trace);
  }
  put(scenario.below);
  return text;
}

Scenario run_scenario(Scenario const& scenario) {
  Scenario result = scenario;
  Runner runner;
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    try {
      runner.run(result.steps[i].command);
      if (i + 1 < result.steps.size()) {
        runner.pass_time_before(result.steps[i + 1].command);
      }
    } catch (ScenarioError const& error) {
      throw ScenarioError("'" + result.steps[i].command + "': " + error.what());
    }
    result.steps[i].trace = runner.take_trace();
  }
  return result;
}

std::string read_text_file(std::filesystem::path const& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace lastcall::simulation
