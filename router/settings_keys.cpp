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
constexpr std::array kModes =
    std::to_array<std::string_view>({"auto", "off", "text", "vllm_ids", "sglang_ids"});
constexpr std::array kAffinities = std::to_array<std::string_view>({"off", "prefix", "header"});

void add_choosing(Keys& keys, Choosing& choosing) {
  keys.insert(
      keys.end(),
      {{.path = "choosing", .slot = Section{}, .doc = "How a worker is chosen for a request."},
       {.path = "choosing.attempts",
        .slot = &choosing.attempts,
        .doc = "Number of workers that a request may be sent to before its client has received a "
               "byte.",
        .range = Range{1, 100},
        .live = true},
       {.path = "choosing.affinity",
        .slot = config::choice(choosing.affinity, kAffinities),
        .doc = "What sends related requests to one worker, whose prefix cache then holds their "
               "common start: the start of the prompt, or a header. No worker gets more than 1.25 "
               "times its share of all requests.",
        .live = true},
       {.path = "choosing.affinity_bytes",
        .slot = &choosing.affinity_bytes,
        .doc = "Length in bytes of the start of a prompt, as written in the body; requests in "
               "which it is equal are related.",
        .range = Range{1, 1'048'576},
        .live = true},
       {.path = "choosing.affinity_header",
        .slot = &choosing.affinity_header,
        .doc = "Header whose value relates requests, for `header`; a request without it goes to "
               "the least loaded worker.",
        .form = &config::kToken,
        .live = true},
       {.path = "choosing.skip_first",
        .slot = &choosing.skip_first,
        .doc = "How long a worker is skipped after it refused, was unreachable or broke off a "
               "response; the time doubles with each failure until the worker answers.",
        .range = within(1ms, 1h)},
       {.path = "choosing.skip_most",
        .slot = &choosing.skip_most,
        .doc = "Longest time that a worker is skipped.",
        .range = within(1ms, 1h)}});
}

void add_migration(Keys& keys, Migration& migration) {
  keys.insert(
      keys.end(),
      {{.path = "migration",
        .slot = Section{},
        .doc = "How a stream continues at another worker when its own fails."},
       {.path = "migration.by",
        .slot = config::choice(migration.by, kModes),
        .doc = "How another worker receives the answer so far. `auto` finds out what each worker "
               "accepts with a few streams of one token. `text` sends the text to all workers, "
               "which suits every engine that knows `continue_final_message`. `vllm_ids` and "
               "`sglang_ids` send token ids in the form of that engine. `off` disables migration.",
        .live = true},
       {.path = "migration.key_file",
        .slot = &migration.key_file,
        .doc = "File whose first line is the key that workers require (`Authorization: Bearer`), "
               "for the streams of `auto`; it is read again for each of them.",
        .form = &config::kAbsolutePath,
        .unset = "the environment variable `LASTCALL_ROUTER_WORKER_KEY`, else no key",
        .live = true},
       {.path = "migration.comment",
        .slot = &migration.comment,
        .doc = "Whether an SSE comment, which clients skip, marks the place at which another "
               "worker continues an answer: `: lastcall-migrated {\"kind\": \"failure\"}`, or "
               "`planned`, or `stall`.",
        .live = true},
       {.path = "migration.stall",
        .slot = &migration.stall,
        .doc = "A worker is stalled if all of its streams are silent for this time, and they "
               "continue elsewhere. A stream that is silent while others are not, or that has not "
               "begun, gets six times as long; a worker that has left its source gets a quarter.",
        .range = kWait,
        .unset = "no worker is considered stalled"},
       {.path = "migration.prefill_tokens",
        .slot = &migration.prefill_tokens,
        .doc = "Tokens of prompts and answers that one worker gets to compute at a time when "
               "answers continue there; a single answer may exceed it.",
        .range = Range{1, 100'000'000}},
       {.path = "migration.wait",
        .slot = &migration.wait,
        .doc = "How long an interrupted answer, or a request that may have killed an engine, "
               "waits for a worker that accepts it.",
        .range = within(0ms, 1h),
        .live = true}});
}

void add_timeouts(Keys& keys, Timeouts& timeouts) {
  keys.insert(
      keys.end(),
      {{.path = "timeouts", .slot = Section{}, .doc = "How long the router waits."},
       {.path = "timeouts.connect",
        .slot = &timeouts.connect,
        .doc = "Longest wait for a connection to a worker; then the next worker is tried.",
        .range = kWait},
       {.path = "timeouts.first_byte",
        .slot = &timeouts.first_byte,
        .doc = "Longest wait for the head of a worker's response; then the next worker is tried, "
               "if the request may be repeated.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "timeouts.idle",
        .slot = &timeouts.idle,
        .doc = "Longest wait for further bytes of a response that has begun.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "timeouts.total",
        .slot = &timeouts.total,
        .doc = "Longest time from the end of the request to the last byte of its response, at "
               "all workers together.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "timeouts.client",
        .slot = &timeouts.client,
        .doc = "Longest wait for the whole head of a client's request, for the next part of its "
               "body, and for the client to read what was sent; and how far a body may fall "
               "behind a rate of 1 byte per millisecond.",
        .range = kWait},
       {.path = "timeouts.keep_alive",
        .slot = &timeouts.keep_alive,
        .doc = "Longest wait for the next request on a client's connection.",
        .range = kWait},
       {.path = "timeouts.upstream_keep_alive",
        .slot = &timeouts.upstream_keep_alive,
        .doc = "How long an unused connection to a worker is kept; keep it below the worker's own "
               "limit (5 s in uvicorn).",
        .range = kWait},
       {.path = "timeouts.lookup",
        .slot = &timeouts.lookup,
        .doc = "How long the address of a worker's host name is used before it is looked up "
               "again; if nothing can be reached there, that happens at once.",
        .range = within(1s, 24h)}});
}

void add_limits(Keys& keys, Limits& limits) {
  keys.insert(
      keys.end(),
      {{.path = "limits", .slot = Section{}, .doc = "Limits for clients."},
       {.path = "limits.max_header_size",
        .slot = &limits.max_header_size,
        .doc = "Largest head of a request in bytes; a larger one is refused with 431.",
        .range = Range{1'024, 1'048'576}},
       {.path = "limits.max_body_size",
        .slot = &limits.max_body_size,
        .doc = "Largest body of a request in bytes, which is read completely before a worker is "
               "chosen; a larger one is refused with 413.",
        .range = Range{1'024, 2'147'483'647}},
       {.path = "limits.max_connections",
        .slot = &limits.max_connections,
        .doc = "Client connections at a time, as far as the limit of open files allows.",
        .range = Range{1, 1'000'000}},
       {.path = "limits.max_buffer_memory",
        .slot = &limits.max_buffer_memory,
        .doc = "Bytes that the buffers of all connections may hold. Above three quarters of it, "
               "new requests are refused as `overloaded`; above all of it, slow connections that "
               "hold much are closed. Half of it is for the records from which answers continue "
               "elsewhere; when that half is full, the largest record is dropped, and its answer "
               "cannot continue.",
        .range = Range{1'048'576, 1'000'000'000'000},
        .unset = "two thirds of the cgroup's memory limit, at most 1 GiB; 1 GiB without a "
                 "limit"}});
}

void add_worker_tls(Keys& keys, WorkerTls& tls) {
  keys.insert(
      keys.end(),
      {{.path = "worker_tls",
        .slot = Section{},
        .doc = "TLS to workers whose URL begins with `https://`."},
       {.path = "worker_tls.ca_file",
        .slot = &tls.ca_file,
        .doc = "File with the certificate authorities of the workers' certificates, PEM; it is "
               "read again when it changes.",
        .form = &config::kAbsolutePath,
        .unset = "the system's authorities"},
       {.path = "worker_tls.cert_file",
        .slot = &tls.cert_file,
        .doc = "File with the router's own certificate and its chain, PEM, for workers that "
               "request one; needs `key_file`.",
        .form = &config::kAbsolutePath,
        .unset = "no certificate is presented"},
       {.path = "worker_tls.key_file",
        .slot = &tls.key_file,
        .doc = "File with the certificate's key, PEM.",
        .form = &config::kAbsolutePath,
        .unset = "no certificate is presented"},
       {.path = "worker_tls.server_name",
        .slot = &tls.server_name,
        .doc = "Name that every worker's certificate must have, and that is sent as the server "
               "name.",
        .form = &config::kName,
        .unset = "the host of the worker's URL"}});
}

void add_shutdown(Keys& keys, Shutdown& shutdown) {
  keys.insert(
      keys.end(),
      {{.path = "shutdown", .slot = Section{}, .doc = "How the router ends at SIGTERM."},
       {.path = "shutdown.late_accept",
        .slot = &shutdown.late_accept,
        .doc = "How long new connections are still accepted while readiness already fails, so "
               "that load balancers notice it.",
        .range = within(0ms, 10min),
        .live = true},
       {.path = "shutdown.grace_period",
        .slot = &shutdown.grace_period,
        .doc = "How long requests in flight may take from the signal on; longer ones are cut. "
               "The pod's `terminationGracePeriodSeconds` must be longer.",
        .range = within(0ms, 24h),
        .live = true}});
}

}  // namespace

Keys keys_of(Settings& settings) {
  Keys keys{{.path = "listen",
             .slot = &settings.listen,
             .doc = "Address that clients connect to.",
             .range = kListenPort,
             .env = "LASTCALL_ROUTER_LISTEN",
             .local = true},
            {.path = "operators",
             .slot = &settings.operators,
             .doc = "Address that serves `/livez`, `/readyz` and `/metrics`.",
             .range = kListenPort,
             .env = "LASTCALL_ROUTER_OPERATORS",
             .local = true},
            {.path = "workers",
             .slot = config::items(settings.workers),
             .doc = "Sources of workers, at least one; the workers of all sources are used.",
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
                .doc = "File with the certificate and its chain, PEM; it is read again when it "
                       "changes.",
                .form = &config::kAbsolutePath,
                .unset = "plain HTTP"},
               {.path = "tls.key_file",
                .slot = &settings.tls.key_file,
                .doc = "File with the certificate's key, PEM.",
                .form = &config::kAbsolutePath,
                .unset = "plain HTTP"}});
  add_worker_tls(keys, settings.worker_tls);
  add_shutdown(keys, settings.shutdown);
  config::add_log_keys(keys, settings.log);
  return keys;
}

}  // namespace lastcall::router
