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
      {{.path = "identity",
        .slot = Section{},
        .doc = "The names of this pod in registries and "
               "metrics."},
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
        .doc = "Endpoint that is registered unless an SDK names its own.",
        .form = &kName},
       {.path = "identity.model",
        .slot = &identity.model,
        .doc = "Model that the engine serves; used in metrics and events for requests that name "
               "none.",
        .form = &kAnyText},
       {.path = "identity.advertise",
        .slot = &identity.advertise,
        .doc = "URL that registries publish for this pod.",
        .form = &kHttpUrl,
        .unset = "`http://$POD_IP:<port of ingress.listen>` (`https` with `ingress.tls`); "
                 "without `ingress`, the engine's port"}});
}

void add_engine(Keys& keys, Engine& engine) {
  keys.insert(
      keys.end(),
      {{.path = "engine", .slot = Section{}, .doc = "The engine that lastcall manages."},
       {.path = "engine.kind",
        .slot = choice(engine.kind, kEngineKinds),
        .doc = "Preset for health checks, gauges and thresholds (see `docs/engines.md`). `custom` "
               "has only the process check, and a connection to `engine.url` or `ingress.upstream` "
               "where one is set."},
       {.path = "engine.command",
        .slot = &engine.command,
        .doc = "The engine's command line for `lastcall run` if its own command line has none; "
               "in a pod, the shim's command line names the engine.",
        .form = &kArgument},
       {.path = "engine.stop_signal",
        .slot = &engine.stop_signal,
        .doc = "Signal that makes the engine end.",
        .form = &kSignal,
        .unset = "the preset's (SIGTERM)"},
       {.path = "engine.rest_grace",
        .slot = &engine.rest_grace,
        .doc =
            "How long processes may live that the engine's main process leaves behind after the "
            "stop signal, such as an engine that a shell started. Each gets the stop signal once "
            "no other process of the tree can end it, and SIGKILL after this time, at the latest "
            "a second before the deadline.",
        .range = within(0s, 10min),
        .unset =
            "`10s`; with vllm and sglang no time for `engine.essential_processes` whose server "
            "is gone, because it ends them first"},
       {.path = "engine.essential_processes",
        .slot = &engine.essential_processes,
        .doc =
            "Names of processes without which the engine is dead, as `ps` shows them; a trailing "
            "`*` matches any suffix. When the shim sees one of them vanish, a fatal stop begins "
            "at once. If empty, the preset's names apply (see `docs/engines.md`).",
        .form = &kAnyText},
       {.path = "engine.on_exit",
        .slot = choice(engine.on_exit, kOnExit),
        .doc = "Exit code after the engine ended by itself: `fatal` is 1, and `propagate` is the "
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
        .doc = "The engine's own gauges. They show what is in flight where neither an SDK nor "
               "the ingress counts requests. They are read during a drain, while a check gets no "
               "answer, and for `health.stalled_after`."},
       {.path = "engine.metrics.url",
        .slot = &metrics.url,
        .doc = "URL of the engine's metrics in Prometheus' text format.",
        .form = &kPlainHttpUrl,
        .unset = "`engine.url` with the preset's path"},
       {.path = "engine.metrics.running",
        .slot = &metrics.running,
        .doc = "Name of the gauge of running requests.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.waiting",
        .slot = &metrics.waiting,
        .doc = "Name of the gauge of waiting requests.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.tokens",
        .slot = &metrics.tokens,
        .doc = "Name of a counter that rises with each generated token. While it moves, the "
               "engine is not dead; if it stands still although there is work, the engine is "
               "stalled.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.kv_usage",
        .slot = &metrics.kv_usage,
        .doc = "Name of the gauge of KV cache usage, 0 to 1, for "
               "`admission.active_decode_blocks_threshold`.",
        .form = &kMetricName,
        .unset = "the preset's"},
       {.path = "engine.metrics.refresh",
        .slot = &metrics.refresh,
        .doc = "How far the engine's gauges may lag behind its steps. The engine counts as idle "
               "after two readings of 0 this far apart and a proof by the load counter or by a "
               "request of one token.",
        .range = within(100ms, 10min),
        .unset = "the preset's"},
       {.path = "engine.metrics.load_url",
        .slot = &metrics.load_url,
        .doc = "URL of a JSON document whose `server_load` counts requests from their acceptance "
               "on. It is trusted once it was above 0, and only if the gauges describe a single "
               "process.",
        .form = &kPlainHttpUrl,
        .unset = "`engine.url` with the preset's path"},
       {.path = "engine.metrics.load_tracking",
        .slot = &metrics.load_tracking,
        .doc = "Whether the engine was started with load tracking (vLLM: "
               "`--enable-server-load-tracking`); if so, its load counter is trusted before it "
               "was above 0."}});
}

void add_engine_probe(Keys& keys, EngineProbe& probe) {
  keys.insert(
      keys.end(),
      {{.path = "engine.probe",
        .slot = Section{},
        .doc =
            "The request of one token that lastcall itself sends to the engine. It appears in no "
            "count of requests."},
       {.path = "engine.probe.barrier",
        .slot = &probe.barrier,
        .doc = "Whether a drain whose requests are not counted sends it once the gauges are at 0: "
               "its token proves that they are up to date. Without a proof the drain stays "
               "`unknown`."},
       {.path = "engine.probe.canary",
        .slot = &probe.canary,
        .doc = "Whether an engine that was idle for 10 s gets it, at most once in 30 s. An "
               "engine that does not answer it has a core that froze while idle."},
       {.path = "engine.probe.url",
        .slot = &probe.url,
        .doc = "URL that it is posted to: completions or chat completions of the OpenAI API.",
        .form = &kPlainHttpUrl,
        .unset = "`engine.url` with the preset's path; `custom` has none and sends nothing"},
       {.path = "engine.probe.model",
        .slot = &probe.model,
        .doc = "Model that the request names.",
        .form = &kAnyText,
        .unset = "`identity.model`, else the first model that the engine lists"},
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
        .doc = "Time budgets of a stop. They are caps within one deadline and are never added up."},
       {.path = "shutdown.grace_period",
        .slot = &budgets.grace_period,
        .doc = "Time from the cause of a stop to its deadline; shortened if the pod grants less.",
        .range = within(1s, 24h)},
       {.path = "shutdown.deregister_timeout",
        .slot = &budgets.deregister_timeout,
        .doc = "Longest wait for the registries to confirm; 0s asks each once and does not wait.",
        .range = within(0s, 1h)},
       {.path = "shutdown.late_accept",
        .slot = &budgets.late_accept,
        .doc = "How long new requests are still served after deregistration. Both together get "
               "at most half of the time before cleanup.",
        .range = within(0s, 1h)},
       {.path = "shutdown.cleanup_reserve",
        .slot = &budgets.cleanup_reserve,
        .doc = "Time that is reserved for cleanup, at most as much as cleanup can use; no "
               "earlier phase can use it.",
        .range = within(0s, 1h)},
       {.path = "shutdown.cancel_settle",
        .slot = &budgets.cancel_settle,
        .doc = "Time from the request that remaining requests stop to killing them.",
        .range = within(0s, 1h)},
       {.path = "shutdown.drain_unknown",
        .slot = &budgets.drain_unknown,
        .doc = "How long a drain waits if nothing reports what is in flight.",
        .range = within(0s, 24h)},
       {.path = "shutdown.migrate",
        .slot = choice(shutdown.migrate, kMigrate),
        .doc = "When requests of endpoints with `graceful_shutdown: false` are handed off: at "
               "the end of the drain or at its start."},
       {.path = "shutdown.hand_off",
        .slot = choice(shutdown.hand_off, kHandOff),
        .doc = "With `early`, clients that announced themselves as routers (`X-Lastcall-Router: "
               "1`) are notified in their streams, when a stop begins to drain, of the time at "
               "which these will be cut, so that they can move them earlier; other clients see "
               "no difference."},
       {.path = "shutdown.second_signal",
        .slot = choice(shutdown.second_signal, kSecondSignal),
        .doc = "Whether a further TERM, INT or QUIT is ignored or ends the stop at once."},
       {.path = "shutdown.after_stop",
        .slot = choice(shutdown.after_stop, kAfterStop),
        .doc = "Whether the supervisor waits for the next engine after a stop (`rearm`) or exits "
               "(`exit`); `auto` decides by the container that the shim is in."}});
}

void add_cleanup(Keys& keys, Cleanup& cleanup) {
  keys.insert(
      keys.end(),
      {{.path = "cleanup",
        .slot = Section{},
        .doc = "What is cleaned up after the drain, in the supervisor's container."},
       {.path = "cleanup.paths",
        .slot = &cleanup.paths,
        .doc = "Files and directories to remove, with shell wildcards. Links are not followed, "
               "other file systems are not entered, and the supervisor's own files stay.",
        .form = &kCleanupPath},
       {.path = "cleanup.hooks",
        .slot = items(cleanup.hooks),
        .doc = "Commands that run before the engine is stopped. A command that was running when "
               "the supervisor crashed runs again."}});
}

void add_health(Keys& keys, Health& health) {
  keys.insert(
      keys.end(),
      {{.path = "health", .slot = Section{}, .doc = "How a dead or wedged engine is detected."},
       {.path = "health.interval",
        .slot = &health.interval,
        .doc = "Time from the start of one round of checks to the start of the next.",
        .range = within(50ms, 1h)},
       {.path = "health.unresponsive_after",
        .slot = &health.unresponsive_after,
        .doc = "Checks that only time out are fatal after this time, and only while no byte "
               "moves.",
        .range = within(1s, 24h),
        .live = true},
       {.path = "health.stalled_after",
        .slot = &health.stalled_after,
        .doc = "An engine that answers its checks but moves no byte for this long, with work in "
               "flight, is wedged; `0s` means never.",
        .range = within(0s, 24h),
        .unset = "with vllm, four times the longest wait for a first token that was seen, at least "
                 "`2m`, and `5m` if none was seen; else never",
        .live = true},
       {.path = "health.startup_timeout",
        .slot = &health.startup_timeout,
        .doc = "Longest time from the engine's start to its first healthy round. Only a shim "
               "reports that start; without a shim, use a startup probe.",
        .range = within(1s, 24h),
        .unset = "no limit",
        .live = true},
       {.path = "health.failure_threshold",
        .slot = &health.failure_threshold,
        .doc = "Number of consecutive definite failures that is fatal.",
        .range = Range{1, 1'000},
        .unset = "the preset's (vllm 1, else 2)",
        .live = true},
       {.path = "health.dead_statuses",
        .slot = &health.dead_statuses,
        .doc = "HTTP statuses of a check that count as definite failures.",
        .range = Range{100, 599},
        .unset = "the preset's ([500, 503])"},
       {.path = "health.checks",
        .slot = items(health.checks),
        .doc = "The checks, in addition to the process check, which is always on; an empty list "
               "leaves only that one.",
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
