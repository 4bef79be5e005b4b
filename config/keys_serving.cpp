// Rows for what is served and where: listeners, sockets, registries, admission, log.
#include <array>

#include "config/keys.hpp"
#include "config/keys_bind.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 3> kReadinessOnStop{"auto", "immediate", "late"};
constexpr std::array<std::string_view, 3> kStatusPage{"auto", "always", "never"};
constexpr std::array<std::string_view, 6> kLogLevels{"trace",   "debug", "info",
                                                     "warning", "error", "critical"};
constexpr std::array<std::string_view, 3> kLogFormats{"auto", "json", "text"};
constexpr std::array<std::uint32_t, 3> kOverloadStatuses{503, 529, 429};
constexpr Range kListenPort{0, 65'535};

void add_listeners(Keys& keys, Config& c) {
  keys.insert(
      keys.end(),
      {{.path = "probes", .slot = Section{}, .doc = "The listener for probes and metrics."},
       {.path = "probes.listen",
        .slot = &c.probes.listen,
        .doc = "Address to listen on; port 0 picks a free port. `[::]` falls back to 0.0.0.0.",
        .range = kListenPort,
        .local = true},
       {.path = "probes.readiness_on_stop",
        .slot = choice(c.probes.readiness_on_stop, kReadinessOnStop),
        .doc = "When `/readyz` becomes 503 in a stop; `auto` is `late` if the pod is being "
               "deleted."},
       {.path = "probes.status_page",
        .slot = choice(c.probes.status_page, kStatusPage),
        .doc = "Whether the listener shows the state to everybody who reaches it: `/` is a page, "
               "and `/status` its JSON document; `auto` does so under `lastcall run` outside of "
               "a pod."},
       {.path = "probes.merge_engine_metrics",
        .slot = &c.probes.merge_engine_metrics,
        .doc = "Whether `/metrics` appends the engine's own metrics; `/metrics/engine` always "
               "has them."},
       {.path = "probes.engine_metrics_timeout",
        .slot = &c.probes.engine_metrics_timeout,
        .doc = "Longest time that a scrape waits for the engine's own metrics.",
        .range = within(50ms, 1min)},
       {.path = "probes.orders_token_file",
        .slot = &c.probes.orders_token_file,
        .doc = "Serves `POST /lifecycle/drain` and `/lifecycle/resume` and `GET "
               "/lifecycle/status` to callers whose `X-Lastcall-Token` is this file's first "
               "line; the file is read again for each call.",
        .form = &kAbsolutePath,
        .unset = "none of them is served",
        .local = true},
       {.path = "lifecycle",
        .slot = Section{},
        .doc = "preStop calls, for engine images whose command cannot be overridden."},
       {.path = "lifecycle.enabled",
        .slot = &c.lifecycle.enabled,
        .doc = "Whether preStop calls are accepted, over the engine's Unix socket "
               "(`lastcall-shim --prestop engine`) and, with `lifecycle.http`, over HTTP."},
       {.path = "lifecycle.http",
        .slot = &c.lifecycle.http,
        .doc = "Whether `lifecycle.listen` is opened for preStop hooks of kind httpGet."},
       {.path = "lifecycle.listen",
        .slot = &c.lifecycle.listen,
        .doc = "Address to listen on; port 0 picks a free port.",
        .range = kListenPort,
        .local = true},
       {.path = "lifecycle.token",
        .slot = &c.lifecycle.token,
        .doc = "Value of the header `X-Lastcall-Token` that every call must carry.",
        .form = &kToken,
        .unset = "no token is required",
        .env = "LASTCALL_LIFECYCLE_TOKEN",
        .secret = true},
       {.path = "ipc", .slot = Section{}, .doc = "The sockets of engines and operators."},
       {.path = "ipc.socket",
        .slot = &c.ipc.socket,
        .doc = "Unix socket for the shim and the SDKs.",
        .form = &kSocketPath},
       {.path = "ipc.admin_socket",
        .slot = &c.ipc.admin_socket,
        .doc = "Unix socket for operators, in a directory that the engine cannot reach.",
        .form = &kSocketPath},
       {.path = "ipc.mode", .slot = FileMode{&c.ipc.mode}, .doc = "Permissions of the sockets."},
       {.path = "ipc.allow_uids",
        .slot = Uids{&c.ipc.allow_uids},
        .doc = "User ids that may connect, in addition to the supervisor's own and 0; `any` is "
               "for images whose user is not known, and safe only if no other pod mounts the "
               "socket's volume.",
        .range = Range{0, 4'294'967'294}},
       {.path = "ipc.reconnect_window",
        .slot = &c.ipc.reconnect_window,
        .doc = "How long a disconnected peer may take to reconnect before its requests are lost.",
        .range = within(100ms, 1h)},
       {.path = "ipc.max_requests_per_peer",
        .slot = &c.ipc.max_requests_per_peer,
        .doc = "Live requests of one SDK connection. A further one is refused with `busy`, and "
               "the first refusal is logged as a warning.",
        .range = Range{1, 10'000'000}},
       {.path = "ipc.max_requests",
        .slot = &c.ipc.max_requests,
        .doc = "Live requests of all SDK connections together. Each takes about 1 kB, and the "
               "memory limit must leave room for them.",
        .range = Range{1, 10'000'000}}});
}

void add_outside(Keys& keys, Config& c) {
  keys.insert(
      keys.end(),
      {{.path = "discovery",
        .slot = items(c.discovery),
        .doc = "Registries that this instance joins when it begins to serve and leaves before it "
               "drains.",
        .secret = true},
       {.path = "events",
        .slot = Section{},
        .doc = "Where phase changes, drain progress and busy state are published."},
       {.path = "events.nats", .slot = Section{}, .doc = "A NATS server."},
       {.path = "events.nats.url",
        .slot = &c.events.nats.url,
        .doc = "URL of the server.",
        .form = &kNatsUrl,
        .unset = "no events"},
       {.path = "events.nats.subject",
        .slot = &c.events.nats.subject,
        .doc = "Subject of the events.",
        .form = &kSubject},
       {.path = "events.nats.username",
        .slot = &c.events.nats.username,
        .doc = "User to connect as.",
        .form = &kAnyText,
        .unset = "no user"},
       {.path = "events.nats.password_file",
        .slot = &c.events.nats.password_file,
        .doc = "File whose first line is the user's password.",
        .form = &kAbsolutePath,
        .unset = "the environment variable `LASTCALL_NATS_PASSWORD`"},
       {.path = "events.nats.credentials_file",
        .slot = &c.events.nats.credentials_file,
        .doc = "File with the user's JWT and its seed.",
        .form = &kAbsolutePath,
        .unset = "no credentials"},
       {.path = "events.nats.ca_file",
        .slot = &c.events.nats.ca_file,
        .doc = "File with the certificate authority of the server.",
        .form = &kAbsolutePath,
        .unset = "the system's authorities"},
       {.path = "events.nats.cert_file",
        .slot = &c.events.nats.cert_file,
        .doc = "File with the client's certificate; needs `events.nats.key_file`.",
        .form = &kAbsolutePath,
        .unset = "no certificate is presented"},
       {.path = "events.nats.key_file",
        .slot = &c.events.nats.key_file,
        .doc = "File with the key of the client's certificate.",
        .form = &kAbsolutePath,
        .unset = "no certificate is presented"}});
}

void add_admission(Keys& keys, Admission& admission) {
  keys.insert(keys.end(),
              {{.path = "admission",
                .slot = Section{},
                .doc = "How requests are queued and refused before the engine is overloaded; "
                       "[more](admission.md)."},
               {.path = "admission.engine_request_limit",
                .slot = &admission.engine_request_limit,
                .doc = "Requests that may run at once.",
                .range = Range{1, 1'000'000},
                .unset = "no limit, and nothing queues",
                .live = true},
               {.path = "admission.queue_limit",
                .slot = &admission.queue_limit,
                .doc = "Requests that may wait for a free place, first come, first served.",
                .range = Range{0, 1'000'000},
                .live = true},
               {.path = "admission.queue_timeout",
                .slot = &admission.queue_timeout,
                .doc = "Longest wait in the queue before a request is refused.",
                .range = within(1ms, 24h),
                .unset = "no limit",
                .live = true},
               {.path = "admission.engine_wait_limit",
                .slot = &admission.engine_wait_limit,
                .doc = "Running requests that may wait for their first byte at the same time.",
                .range = Range{1, 1'000'000},
                .unset = "not considered",
                .live = true},
               {.path = "admission.priorities",
                .slot = &admission.priorities,
                .doc = "Whether more urgent requests overtake others in the queue.",
                .live = true},
               {.path = "admission.overload_status",
                .slot = &admission.overload_status,
                .doc = "HTTP status of a refusal.",
                .allowed = kOverloadStatuses},
               {.path = "admission.active_decode_blocks_threshold",
                .slot = &admission.active_decode_blocks_threshold,
                .doc = "Share of KV cache blocks in use above which a rank is busy.",
                .range = Range{0, 1},
                .unset = "not considered",
                .live = true},
               {.path = "admission.active_prefill_tokens_threshold",
                .slot = &admission.active_prefill_tokens_threshold,
                .doc = "Tokens in prefill above which a rank is busy.",
                .range = Range{0, 1'000'000'000'000},
                .unset = "not considered",
                .live = true},
               {.path = "admission.load_max_age",
                .slot = &admission.load_max_age,
                .doc = "Age after which a load report expires; a rank whose last report is older "
                       "counts as free.",
                .range = within(100ms, 1h),
                .live = true},
               {.path = "admission.ranks",
                .slot = &admission.ranks,
                .doc = "Data-parallel ranks of the engine; one that has never reported its load "
                       "counts as free.",
                .range = Range{1, 1'024},
                .unset = "as many ranks as have reported",
                .live = true},
               {.path = "admission.http_api",
                .slot = &admission.http_api,
                .doc = "Whether the probes listener serves `GET` and `POST /busy_threshold`."},
               {.path = "admission.http_token",
                .slot = &admission.http_token,
                .doc = "Value of the header `X-Lastcall-Token` that a request must carry to set "
                       "`/busy_threshold`; reading needs none.",
                .form = &kToken,
                .unset = "no token is required, and `check` warns",
                .env = "LASTCALL_ADMISSION_TOKEN",
                .secret = true}});
}

}  // namespace

void add_log_keys(Keys& keys, Log& log) {
  keys.insert(
      keys.end(),
      {{.path = "log", .slot = Section{}, .doc = "The log on stderr."},
       {.path = "log.level",
        .slot = choice(log.level, kLogLevels),
        .doc = "Least severe level that is written.",
        .env = "LASTCALL_LOG_LEVEL",
        .live = true},
       {.path = "log.format",
        .slot = choice(log.format, kLogFormats),
        .doc = "One JSON object per line, or text for people; `auto` writes text on a terminal "
               "and JSON elsewhere."}});
}

void add_serving_keys(Keys& keys, Config& config) {
  add_listeners(keys, config);
  add_outside(keys, config);
  add_ingress_keys(keys, config.ingress);
  add_admission(keys, config.admission);
  add_log_keys(keys, config.log);
  keys.push_back({.path = "endpoints",
                  .slot = items(config.endpoints),
                  .doc = "Settings of single endpoints of the ingress that differ from the "
                         "default."});
}

}  // namespace lastcall::config
