#include "config/keys.hpp"

#include <array>

#include "config/keys_bind.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 5> kEngineKinds{"vllm", "sglang", "trtllm", "dynamo",
                                                       "custom"};
constexpr std::array<std::string_view, 2> kOnExit{"fatal", "propagate"};
constexpr std::array<std::string_view, 2> kMigrate{"at_end", "at_start"};
constexpr std::array<std::string_view, 2> kHandOff{"off", "early"};
constexpr std::array<std::string_view, 2> kSecondSignal{"ignore", "force"};
constexpr std::array<std::string_view, 3> kAfterStop{"auto", "rearm", "exit"};

void add_identity(Keys& keys, Identity& identity) {
  keys.insert(
      keys.end(),
      {{.path = "identity", .slot = Section{}, .doc = "What routers and metrics call this pod."},
       {.path = "identity.namespace",
        .slot = &identity.dynamo_namespace,
        .doc = "Namespace in registry keys and in the label `dynamo_namespace`.",
        .form = &kName},
       {.path = "identity.component",
        .slot = &identity.component,
        .doc = "Component in registry keys and in the label `dynamo_component`.",
        .form = &kName},
       {.path = "identity.endpoint",
        .slot = &identity.endpoint,
        .doc = "Endpoint that is registered where no SDK names its own.",
        .form = &kName},
       {.path = "identity.model",
        .slot = &identity.model,
        .doc = "Model that the engine serves, for metrics and events where a request names none.",
        .form = &kAnyText},
       {.path = "identity.advertise",
        .slot = &identity.advertise,
        .doc = "URL that routers are told to reach this pod at.",
        .form = &kHttpUrl,
        .unset = "`http://$POD_IP:<port of ingress.listen>` (`https` with `ingress.tls`), without "
                 "`ingress` the engine's port"}});
}

void add_engine(Keys& keys, Engine& engine) {
  keys.insert(
      keys.end(),
      {{.path = "engine", .slot = Section{}, .doc = "The engine beside which lastcall stands."},
       {.path = "engine.kind",
        .slot = choice(engine.kind, kEngineKinds),
        .doc = "Preset for health checks, gauges and thresholds (see `docs/engines.md`). `custom` "
               "has only the process check, and a connection to `engine.url` or `ingress.upstream` "
               "where one is set."},
       {.path = "engine.command",
        .slot = &engine.command,
        .doc = "The engine's command line for `lastcall run` without one of its own; in a pod "
               "the shim's command line says it.",
        .form = &kArgument},
       {.path = "engine.stop_signal",
        .slot = &engine.stop_signal,
        .doc = "Signal that asks the engine to end.",
        .form = &kSignal,
        .unset = "the preset's (SIGTERM)"},
       {.path = "engine.rest_grace",
        .slot = &engine.rest_grace,
        .doc =
            "How long processes live on that the engine's main process leaves behind when it was "
            "asked to end, such as an engine behind a shell: each gets the stop signal once no "
            "other process of the tree can end it, and SIGKILL after this time, at the latest a "
            "second before the deadline.",
        .range = within(0s, 10min),
        .unset =
            "`10s`; with vllm and sglang nothing for `engine.essential_processes` of which their "
            "server is gone, because it ends them first"},
       {.path = "engine.essential_processes",
        .slot = &engine.essential_processes,
        .doc =
            "Names of processes without which the engine is dead, as `ps` shows them; a last `*` "
            "stands for any end. When the shim sees one of them vanish, the stop is fatal at "
            "once. Empty: the preset's (see `docs/engines.md`).",
        .form = &kAnyText},
       {.path = "engine.on_exit",
        .slot = choice(engine.on_exit, kOnExit),
        .doc = "Exit code after the engine ended by itself: `fatal` is 1, `propagate` the "
               "engine's own (128+n for signal n)."},
       {.path = "engine.url",
        .slot = &engine.url,
        .doc = "Base URL of the engine's HTTP server, for the preset's check and gauges.",
        .form = &kPlainHttpUrl,
        .unset = "`ingress.upstream` if set, else the preset's"}});
}

void add_engine_metrics(Keys& keys, EngineMetrics& metrics) {
  keys.insert(
      keys.end(),
      {{.path = "engine.metrics",
        .slot = Section{},
        .doc = "The engine's own gauges: the source of in-flight where no SDK and no ingress "
               "counts. They are read in a drain, while a check is not answered, and for "
               "`health.stalled_after`."},
       {.path = "engine.metrics.url",
        .slot = &metrics.url,
        .doc = "Where the engine's Prometheus text is.",
        .form = &kPlainHttpUrl,
        .unset = "`engine.url` with the preset's path"},
       {.path = "engine.metrics.running",
        .slot = &metrics.running,
        .doc = "Gauge of the requests that run.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.waiting",
        .slot = &metrics.waiting,
        .doc = "Gauge of the requests that wait.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.tokens",
        .slot = &metrics.tokens,
        .doc = "Counter of generated tokens that rises with each of them: while it moves the "
               "engine is not dead, and while it stands still with work it is stalled.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.kv_usage",
        .slot = &metrics.kv_usage,
        .doc = "Gauge of the KV cache use, 0 to 1, for admission.active_decode_blocks_threshold.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.refresh",
        .slot = &metrics.refresh,
        .doc =
            "How far the engine's gauges are behind its steps: two readings at 0 this far apart, "
            "and a proof by the load counter or by a request of one token, make it idle.",
        .range = within(100ms, 10min),
        .unset = "the preset's"},
       {.path = "engine.metrics.load_url",
        .slot = &metrics.load_url,
        .doc =
            "Where the engine counts requests from their acceptance on: JSON with `server_load`. "
            "Believed once it was above 0, and only where the gauges are those of one process.",
        .form = &kPlainHttpUrl,
        .unset = "`engine.url` with the preset's path"},
       {.path = "engine.metrics.load_tracking",
        .slot = &metrics.load_tracking,
        .doc = "The engine was started so that it counts (vLLM: `--enable-server-load-tracking`): "
               "its load counter is believed before it was above 0."}});
}

void add_engine_probe(Keys& keys, EngineProbe& probe) {
  keys.insert(
      keys.end(),
      {{.path = "engine.probe",
        .slot = Section{},
        .doc =
            "The request of one token that lastcall sends to the engine itself. No count has it."},
       {.path = "engine.probe.barrier",
        .slot = &probe.barrier,
        .doc =
            "Whether a drain whose requests nobody counts sends it once the gauges are at 0: its "
            "token proves that they are fresh. Without a proof the drain stays `unknown`."},
       {.path = "engine.probe.canary",
        .slot = &probe.canary,
        .doc = "Whether an engine that had nothing to do for 10 s gets it, at most once in 30 s: "
               "its silence shows a core that froze while idle."},
       {.path = "engine.probe.url",
        .slot = &probe.url,
        .doc = "Where it is posted: completions or chat completions of the OpenAI API.",
        .form = &kPlainHttpUrl,
        .unset = "`engine.url` with the preset's path; `custom` has none, and sends nothing"},
       {.path = "engine.probe.model",
        .slot = &probe.model,
        .doc = "Model that it names.",
        .form = &kAnyText,
        .unset = "`identity.model`, else the first that the engine lists"},
       {.path = "engine.probe.headers",
        .slot = &probe.headers,
        .doc = "Further headers, each `Name: value`.",
        .form = &kHttpHeader,
        .secret = true}});
}

void add_shutdown(Keys& keys, Shutdown& shutdown) {
  lifecycle::ShutdownSettings& budgets = shutdown.budgets;
  keys.insert(
      keys.end(),
      {{.path = "shutdown",
        .slot = Section{},
        .doc = "Time budgets of a stop: caps inside one deadline, never added."},
       {.path = "shutdown.grace_period",
        .slot = &budgets.grace_period,
        .doc = "From the cause of a stop to its deadline; cut where the pod grants less.",
        .range = within(1s, 24h)},
       {.path = "shutdown.deregister_timeout",
        .slot = &budgets.deregister_timeout,
        .doc = "Longest wait for the registries to confirm; 0s asks each once and does not wait.",
        .range = within(0s, 1h)},
       {.path = "shutdown.late_accept",
        .slot = &budgets.late_accept,
        .doc = "How long new requests are still served after deregistration, with which it shares "
               "half of "
               "the time before cleanup.",
        .range = within(0s, 1h)},
       {.path = "shutdown.cleanup_reserve",
        .slot = &budgets.cleanup_reserve,
        .doc = "Kept for cleanup at the end, at most what cleanup can use; no earlier phase can "
               "use it.",
        .range = within(0s, 1h)},
       {.path = "shutdown.cancel_settle",
        .slot = &budgets.cancel_settle,
        .doc = "From asking the remaining requests to stop to killing them.",
        .range = within(0s, 1h)},
       {.path = "shutdown.drain_unknown",
        .slot = &budgets.drain_unknown,
        .doc = "How long a drain waits when nothing tells what is in flight.",
        .range = within(0s, 24h)},
       {.path = "shutdown.migrate",
        .slot = choice(shutdown.migrate, kMigrate),
        .doc = "When requests of endpoints with `graceful_shutdown: false` are handed off: when "
               "the drain ends or when it begins."},
       {.path = "shutdown.hand_off",
        .slot = choice(shutdown.hand_off, kHandOff),
        .doc = "`early`: when a stop begins to drain, clients that announced themselves as routers "
               "(`X-Lastcall-Router: 1`) are told in their streams when these will be cut, so that "
               "they move them before; anybody else sees no difference."},
       {.path = "shutdown.second_signal",
        .slot = choice(shutdown.second_signal, kSecondSignal),
        .doc = "What a further TERM, INT or QUIT does: nothing, or end the stop at once."},
       {.path = "shutdown.after_stop",
        .slot = choice(shutdown.after_stop, kAfterStop),
        .doc = "What the supervisor does after a stop: wait for the next engine (`rearm`), or "
               "`exit`; `auto` decides by where the shim lives."}});
}

void add_cleanup(Keys& keys, Cleanup& cleanup) {
  keys.insert(
      keys.end(),
      {{.path = "cleanup",
        .slot = Section{},
        .doc = "What is tidied after the drain, in the supervisor's container."},
       {.path = "cleanup.paths",
        .slot = &cleanup.paths,
        .doc =
            "Files and directories to remove, with shell wildcards. Links are not followed, other "
            "file systems not entered, and the supervisor's own files stay.",
        .form = &kCleanupPath},
       {.path = "cleanup.hooks",
        .slot = items(cleanup.hooks),
        .doc = "Commands to run, before the engine is stopped. One that was running when the "
               "supervisor crashed runs again."}});
}

void add_health(Keys& keys, Health& health) {
  keys.insert(
      keys.end(),
      {{.path = "health", .slot = Section{}, .doc = "How a dead or wedged engine is noticed."},
       {.path = "health.interval",
        .slot = &health.interval,
        .doc = "From the start of one round of checks to the next.",
        .range = within(50ms, 1h)},
       {.path = "health.unresponsive_after",
        .slot = &health.unresponsive_after,
        .doc = "Timeouts alone are fatal after this long, and only while no byte moves.",
        .range = within(1s, 24h),
        .live = true},
       {.path = "health.stalled_after",
        .slot = &health.stalled_after,
        .doc = "An engine that answers its checks but moves nothing for this long, with work in "
               "flight, is wedged; `0s`: never.",
        .range = within(0s, 24h),
        .unset =
            "with vllm four times the longest wait for a first token that was seen, `2m` at the "
            "least, `5m` where none was seen; else never",
        .live = true},
       {.path = "health.startup_timeout",
        .slot = &health.startup_timeout,
        .doc = "Longest time from the engine's start to its first healthy round. Only a shim tells "
               "of that start: without one a startup probe is the limit.",
        .range = within(1s, 24h),
        .unset = "no limit",
        .live = true},
       {.path = "health.failure_threshold",
        .slot = &health.failure_threshold,
        .doc = "Consecutive definite failures that are fatal.",
        .range = Range{1, 1'000},
        .unset = "the preset's (vllm 1, else 2)",
        .live = true},
       {.path = "health.dead_statuses",
        .slot = &health.dead_statuses,
        .doc = "HTTP statuses of a check that are definite failures.",
        .range = Range{100, 599},
        .unset = "the preset's ([500, 503])"},
       {.path = "health.checks",
        .slot = items(health.checks),
        .doc = "The checks, beside the process check that is always on; an empty list leaves "
               "only that.",
        .unset = "the preset's"}});
}

}  // namespace

Keys keys_of(Config& config) {
  Keys keys;
  add_identity(keys, config.identity);
  add_engine(keys, config.engine);
  add_engine_metrics(keys, config.engine.metrics);
  add_engine_probe(keys, config.engine.probe);
  add_shutdown(keys, config.shutdown);
  add_cleanup(keys, config.cleanup);
  add_health(keys, config.health);
  add_serving_keys(keys, config);
  return keys;
}

}  // namespace lastcall::config
