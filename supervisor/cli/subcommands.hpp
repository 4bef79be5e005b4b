// The subcommands whose options are plain values, in the order of docs/cli.md; the others have a
// header of their own.
//
// Each is a function of its options, prints to `out` and `err`, and returns the exit code. Those of
// an operator connect to the supervisor; operator.hpp has their exit codes.
//
// Thread rule: main's thread.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "supervisor/cli/operator.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

/// `lastcall requests`: prints every request in flight, which it reads page by page.
int run_requests(OperatorOptions const& options, config::Environment const& environment,
                 std::ostream& out, std::ostream& err);

/// `lastcall drain` and `lastcall resume`: take this instance out of service, and put it back.
///
/// A drain is reversible; with --exit it is a stop and final. --wait follows it to its end: until
/// `drained`, or until the end of the stop with --exit. A drain that was undone is a failure.
struct DrainOptions {
  OperatorOptions common;
  bool exit = false;
  bool wait = false;
  std::optional<std::string> timeout;
};

int run_drain(DrainOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err);

int run_resume(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

/// `lastcall cancel`: cancels requests in flight, by id or by root.
struct CancelOptions {
  OperatorOptions common;
  std::vector<std::string> ids;
  std::string root;
  bool kill = false;
};

/// Why no request can have this id or root; empty if one can.
std::string id_problem(std::string const& id);

/// Sends any number of ids, in as many lines as necessary, and prints one answer. The exit code is
/// also 1 if there was nothing to cancel.
int run_cancel(CancelOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

/// `lastcall admission`: shows and changes the limits of admission and the load thresholds.
///
/// Without a flag it only shows them. A value without a flag stays, and `null` clears it. All flags
/// are checked before anything is sent; limits and thresholds are two messages, in that order.
struct AdmissionOptions {
  OperatorOptions common;
  std::optional<std::string> engine_request_limit;
  std::optional<std::string> queue_limit;
  std::optional<std::string> queue_timeout;
  std::optional<std::string> engine_wait_limit;
  std::optional<std::string> active_decode_blocks_threshold;
  std::optional<std::string> active_prefill_tokens_threshold;
};

int run_admission(AdmissionOptions const& options, config::Environment const& environment,
                  std::ostream& out, std::ostream& err);

/// `lastcall reload`: makes the supervisor read its configuration again.
///
/// Exit codes: 0 all differences were applied; 1 no supervisor answered, it refused (a stop is in
/// progress), or some keys, which are named, need a restart; 2 the configuration has errors, which
/// are all printed, and the old one stays.
int run_reload(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

/// `lastcall wait-ready`: waits until requests may be sent to the engine, for scripts and start-up
/// hooks.
///
/// Exit code 0: ready; 1: not ready in time, with the reason on `err`.
struct WaitReadyOptions {
  OperatorOptions common;
  std::string timeout = "60s";
};

int run_wait_ready(WaitReadyOptions const& options, config::Environment const& environment,
                   std::ostream& out, std::ostream& err);

/// `lastcall plan`: prints the shutdown timeline that results from a configuration.
struct PlanOptions {
  config::LoadOptions load;
  std::optional<std::string> pod_grace;  // "120s"; overrides the environment's value
  Output output = Output::text;
};

int run_plan(PlanOptions const& options, config::Environment const& environment, std::ostream& out,
             std::ostream& err);

/// `lastcall check`: validates a configuration and prints every problem at once.
///
/// Exit code 0: usable; 2: errors, or warnings with --strict.
struct CheckOptions {
  config::LoadOptions load;
  bool strict = false;
  Output output = Output::text;
};

int run_check(CheckOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err);

/// `lastcall probe`: asks one of the supervisor's probes, for exec probes in images without curl.
///
/// It prints nothing on success and otherwise one line on stderr, which the kubelet shows in the
/// pod's events. Exit codes: 0 the probe succeeds; 1 it fails, or there was no answer in time; 2
/// bad usage or configuration.
struct ProbeOptions {
  config::LoadOptions load;
  std::string probe = "livez";         // a path without its leading slash
  std::optional<std::string> address;  // absent: the configuration's probes.listen
  std::string timeout = "1s";
  Output output = Output::text;
};

int run_probe(ProbeOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err);

/// `lastcall doctor`: becomes lastcall-doctor, the program next to the launcher.
///
/// Exit code 0: no findings; 1: findings, or the program does not exist; 2: bad usage or
/// configuration.
struct DoctorOptions {
  config::LoadOptions load;
  Output output = Output::text;
};

/// `own_path` is the path of `lastcall` as users start it.
int run_doctor(DoctorOptions const& options, std::string const& own_path, std::ostream& err);

/// `lastcall replay FILE`: makes the decisions in a log of level debug again.
///
/// So a field report becomes a test: the same events give the same actions, or it prints the first
/// line that differs. Exit codes: 0 every action is the same; 1 a line differs, is missing or was
/// changed; 2 bad usage, a file that cannot be read, or a file without any step in it.
struct ReplayOptions {
  std::string file;  // "-" is standard input
  Output output = Output::text;
};

int run_replay(ReplayOptions const& options, std::ostream& out, std::ostream& err);

/// `lastcall version`: prints which build this is.
struct VersionOptions {
  Output output = Output::text;
};

int run_version(VersionOptions const& options, std::ostream& out);

}  // namespace lastcall::cli
