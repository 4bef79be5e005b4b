// Rows of the router's configuration.
#include <array>
#include <string_view>

#include "config/keys_bind.hpp"
#include "config/text.hpp"
#include "router/settings.hpp"
#include "router/settings_load.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using config::Key;
using config::Keys;
using config::Range;
using config::Section;
using config::within;

constexpr Range kListenPort{0, 65'535};
constexpr Range kWait = within(1ms, 24h);
constexpr std::array kLogLevels =
    std::to_array<std::string_view>({"trace", "debug", "info", "warning", "error", "critical"});
constexpr std::array kModes =
    std::to_array<std::string_view>({"auto", "off", "text", "vllm_ids", "sglang_ids"});
constexpr std::array kAffinities = std::to_array<std::string_view>({"off", "prefix", "header"});
constexpr std::array kLogFormats = std::to_array<std::string_view>({"auto", "json", "text"});

void add_choosing(Keys& keys, Choosing& choosing) {
  keys.insert(
      keys.end(),
      {{.path = "choosing", .slot = Section{}, .doc = "How a worker is chosen."},
       {.path = "choosing.attempts",
        .slot = &choosing.attempts,
        .doc = "Workers that a request may be sent to before its client has a byte.",
        .range = Range{1, 100},
        .live = true},
       {.path = "choosing.affinity",
        .slot = config::choice(choosing.affinity, kAffinities),
        .doc =
            "What sends requests that belong together to one worker, whose prefix cache then has "
            "their begin: the begin of the prompt, or a header; none has more than 1.25 times its "
            "share of all requests.",
        .live = true},
       {.path = "choosing.affinity_bytes",
        .slot = &choosing.affinity_bytes,
        .doc = "Of the prompt, as the body has it: those that are the same so far belong together.",
        .range = Range{1, 1'048'576},
        .live = true},
       {.path = "choosing.affinity_header",
        .slot = &choosing.affinity_header,
        .doc = "Its value, for `header`; a request without it goes where there is least to do.",
        .form = &config::kToken,
        .live = true},
       {.path = "choosing.skip_first",
        .slot = &choosing.skip_first,
        .doc = "How long a worker is skipped that refused, was unreachable or broke a response; "
               "twice as long each time, until it answers.",
        .range = within(1ms, 1h)},
       {.path = "choosing.skip_most",
        .slot = &choosing.skip_most,
        .doc = "The most of that.",
        .range = within(1ms, 1h)}});
}

void add_migration(Keys& keys, Migration& migration) {
  keys.insert(
      keys.end(),
      {{.path = "migration",
        .slot = Section{},
        .doc = "Streams that go on at another worker when theirs fails."},
       {.path = "migration.by",
        .slot = config::choice(migration.by, kModes),
        .doc = "How an answer is given back to another worker: `auto`, as each worker is found to "
               "take it by asking it for a few streams of one token; or all of them alike, as its "
               "text, which goes with every engine that knows `continue_final_message`, or as "
               "token ids, as vLLM or as SGLang tells and takes them; `off`: it is not.",
        .live = true},
       {.path = "migration.key_file",
        .slot = &migration.key_file,
        .doc = "File whose first line is the key that workers want (`Authorization: Bearer`), for "
               "the questions of `auto`; read again for each of them.",
        .form = &config::kAbsolutePath,
        .unset = "`LASTCALL_ROUTER_WORKER_KEY` of the environment, else no key",
        .live = true},
       {.path = "migration.comment",
        .slot = &migration.comment,
        .doc = "Marks an answer where another worker goes on with it by a comment of SSE, which "
               "clients pass over: `: lastcall-migrated {\"kind\": \"failure\"}`, or `planned`, or "
               "`stall`.",
        .live = true},
       {.path = "migration.stall",
        .slot = &migration.stall,
        .doc = "A worker whose streams all say nothing for so long is stalled, and they go on "
               "elsewhere; one stream alone, or one that has said nothing yet, has six times as "
               "long, those of a worker that has left its source a quarter.",
        .range = kWait,
        .unset = "no worker is"},
       {.path = "migration.prefill_tokens",
        .slot = &migration.prefill_tokens,
        .doc = "Tokens of prompts and answers that one worker is given to compute at a time when "
               "answers go on there; one of any size is among them.",
        .range = Range{1, 100'000'000}},
       {.path = "migration.wait",
        .slot = &migration.wait,
        .doc = "How long an answer that is to go on, or a request that an engine may have died of, "
               "waits for a worker that takes it.",
        .range = within(0ms, 1h),
        .live = true}});
}

void add_timeouts(Keys& keys, Timeouts& timeouts) {
  keys.insert(
      keys.end(),
      {{.path = "timeouts", .slot = Section{}, .doc = "How long it waits for what."},
       {.path = "timeouts.connect",
        .slot = &timeouts.connect,
        .doc = "For a connection to a worker; then the next one is tried.",
        .range = kWait},
       {.path = "timeouts.first_byte",
        .slot = &timeouts.first_byte,
        .doc = "For the head of a worker's response; then the next one is tried, where the request "
               "may be repeated.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "timeouts.idle",
        .slot = &timeouts.idle,
        .doc = "For the next bytes of a response that has begun.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "timeouts.total",
        .slot = &timeouts.total,
        .doc = "From the end of the request to the last byte of its response, whoever serves it.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "timeouts.client",
        .slot = &timeouts.client,
        .doc = "For a client's whole head, for the next part of its body, and until it takes what "
               "waits for it; and how far a body may fall behind 1 byte a millisecond.",
        .range = kWait},
       {.path = "timeouts.keep_alive",
        .slot = &timeouts.keep_alive,
        .doc = "For the next request of a client's connection.",
        .range = kWait},
       {.path = "timeouts.upstream_keep_alive",
        .slot = &timeouts.upstream_keep_alive,
        .doc = "How long an unused connection to a worker is kept; keep it below the worker's own "
               "limit (5 s in uvicorn).",
        .range = kWait},
       {.path = "timeouts.lookup",
        .slot = &timeouts.lookup,
        .doc = "How long the address of a worker's host name holds before it is looked up again; "
               "that happens at once where nobody can be reached there.",
        .range = within(1s, 24h)}});
}

void add_limits(Keys& keys, Limits& limits) {
  keys.insert(
      keys.end(),
      {{.path = "limits", .slot = Section{}, .doc = "What clients may take."},
       {.path = "limits.max_header_size",
        .slot = &limits.max_header_size,
        .doc = "Bytes of a request's head; a larger one is refused with 431.",
        .range = Range{1'024, 1'048'576}},
       {.path = "limits.max_body_size",
        .slot = &limits.max_body_size,
        .doc = "Bytes of a request's body, which is read whole before a worker is chosen; a larger "
               "one is refused with 413.",
        .range = Range{1'024, 2'147'483'647}},
       {.path = "limits.max_connections",
        .slot = &limits.max_connections,
        .doc = "Clients at a time, as far as the limit of open files allows.",
        .range = Range{1, 1'000'000}},
       {.path = "limits.max_buffer_memory",
        .slot = &limits.max_buffer_memory,
        .doc = "Bytes that the buffers of all connections may hold. From three quarters on new "
               "requests are refused as `overloaded`, above it connections are closed that hold "
               "much and are slow. Half of it is for what answers could go on from elsewhere: "
               "where that is full, the largest is dropped, and its answer goes on nowhere.",
        .range = Range{1'048'576, 4'294'967'295}}});
}

void add_worker_tls(Keys& keys, WorkerTls& tls) {
  keys.insert(
      keys.end(),
      {{.path = "worker_tls",
        .slot = Section{},
        .doc = "TLS to workers whose URL begins with `https://`."},
       {.path = "worker_tls.ca_file",
        .slot = &tls.ca_file,
        .doc = "The authorities that their certificates come from, PEM; read anew when it changes.",
        .form = &config::kAbsolutePath,
        .unset = "the system's authorities"},
       {.path = "worker_tls.cert_file",
        .slot = &tls.cert_file,
        .doc = "The router's own certificate with its chain, PEM, for workers that ask for one; "
               "needs `key_file`.",
        .form = &config::kAbsolutePath,
        .unset = "no certificate is shown"},
       {.path = "worker_tls.key_file",
        .slot = &tls.key_file,
        .doc = "Its key, PEM.",
        .form = &config::kAbsolutePath,
        .unset = "no certificate is shown"},
       {.path = "worker_tls.server_name",
        .slot = &tls.server_name,
        .doc = "The name that the certificate of every worker has to have, and that they are "
               "asked for.",
        .form = &config::kName,
        .unset = "the host of the worker's URL"}});
}

void add_shutdown(Keys& keys, Shutdown& shutdown) {
  keys.insert(
      keys.end(),
      {{.path = "shutdown", .slot = Section{}, .doc = "Its own end, at SIGTERM."},
       {.path = "shutdown.late_accept",
        .slot = &shutdown.late_accept,
        .doc = "How long new connections are still accepted while readiness already fails, so that "
               "load balancers learn of it.",
        .range = within(0ms, 10min),
        .live = true},
       {.path = "shutdown.grace_period",
        .slot = &shutdown.grace_period,
        .doc = "How long requests in flight may take from the signal on; what is longer is cut. "
               "The pod's `terminationGracePeriodSeconds` has to be longer.",
        .range = within(0ms, 24h),
        .live = true}});
}

void add_log(Keys& keys, config::Log& log) {
  keys.insert(
      keys.end(),
      {{.path = "log", .slot = Section{}, .doc = "The log on stderr."},
       {.path = "log.level",
        .slot = config::choice(log.level, kLogLevels),
        .doc = "The least severe that is written.",
        .env = "LASTCALL_LOG_LEVEL",
        .live = true},
       {.path = "log.format",
        .slot = config::choice(log.format, kLogFormats),
        .doc = "One JSON object a line, or text for people; `auto`: text on a terminal, JSON "
               "elsewhere."}});
}

}  // namespace

Keys keys_of(Settings& settings) {
  Keys keys{{.path = "listen",
             .slot = &settings.listen,
             .doc = "Where clients connect.",
             .range = kListenPort,
             .env = "LASTCALL_ROUTER_LISTEN",
             .local = true},
            {.path = "operators",
             .slot = &settings.operators,
             .doc = "Where `/livez`, `/readyz` and `/metrics` are.",
             .range = kListenPort,
             .env = "LASTCALL_ROUTER_OPERATORS",
             .local = true},
            {.path = "workers",
             .slot = config::items(settings.workers),
             .doc = "Where workers are found, at least one source; several are added up.",
             .live = true}};
  add_choosing(keys, settings.choosing);
  add_load_keys(keys, settings.load);
  add_rejection_keys(keys, settings.rejection);
  add_migration(keys, settings.migration);
  add_timeouts(keys, settings.timeouts);
  add_limits(keys, settings.limits);
  keys.insert(keys.end(),
              {{.path = "tls", .slot = Section{}, .doc = "TLS for clients; both files or none."},
               {.path = "tls.cert_file",
                .slot = &settings.tls.cert_file,
                .doc = "The certificate with its chain, PEM; read anew when it changes.",
                .form = &config::kAbsolutePath,
                .unset = "plain HTTP"},
               {.path = "tls.key_file",
                .slot = &settings.tls.key_file,
                .doc = "Its key, PEM.",
                .form = &config::kAbsolutePath,
                .unset = "plain HTTP"}});
  add_worker_tls(keys, settings.worker_tls);
  add_shutdown(keys, settings.shutdown);
  add_log(keys, settings.log);
  return keys;
}

}  // namespace lastcall::router
