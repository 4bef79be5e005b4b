// Rows of load and rejection.
#include "router/settings_load.hpp"

#include "config/keys_bind.hpp"
#include "config/text.hpp"

namespace lastcall::router {

using namespace std::chrono_literals;
using config::Range;
using config::Section;
using config::within;

void add_load_keys(config::Keys& keys, LoadReading& load) {
  keys.insert(
      keys.end(),
      {{.path = "load", .slot = Section{}, .doc = "What workers tell of their load."},
       {.path = "load.interval",
        .slot = &load.interval,
        .doc = "How long after its last answer a worker is asked again (`GET /metrics`).",
        .range = within(10ms, 10min),
        .unset = "workers are not asked"},
       {.path = "load.max_age",
        .slot = &load.max_age,
        .doc = "How long an answer holds; a rank that has told nothing for longer counts as free.",
        .range = within(10ms, 1h),
        .live = true},
       {.path = "load.port",
        .slot = &load.port,
        .doc = "The port of a worker's host that tells it, such as 7090 of lastcall's probes, "
               "which know every rank.",
        .range = Range{1, 65'535},
        .unset = "that of its URL"}});
}

void add_rejection_keys(config::Keys& keys, Rejection& rejection) {
  keys.insert(keys.end(),
              {{.path = "rejection",
                .slot = Section{},
                .doc = "503 at once where all workers of a model are busy."},
               {.path = "rejection.thresholds",
                .slot = config::items(rejection.thresholds),
                .doc = "From which load on a rank is busy, model by model; none: no worker is.",
                .live = true},
               {.path = "rejection.http_api",
                .slot = &rejection.http_api,
                .doc = "Serves `GET` and `POST /busy_threshold` at `operators`."},
               {.path = "rejection.http_token",
                .slot = &rejection.http_token,
                .doc = "Value of the header `X-Lastcall-Token` that a request must carry to set "
                       "`/busy_threshold`; reading needs none.",
                .form = &config::kToken,
                .unset = "none is asked for: a NetworkPolicy has to keep strangers away",
                .env = "LASTCALL_ROUTER_TOKEN",
                .secret = true}});
}

config::Keys keys_of(ThresholdRule& rule) {
  return {{.path = "model",
           .slot = &rule.model,
           .doc = "The model; empty: those without a row of their own, and workers that serve any.",
           .form = &config::kAnyText},
          {.path = "active_decode_blocks_threshold",
           .slot = &rule.active_decode_blocks,
           .doc = "Share of KV cache blocks in use above which a rank is busy.",
           .range = Range{0, 1},
           .unset = "not looked at"},
          {.path = "active_prefill_tokens_threshold",
           .slot = &rule.active_prefill_tokens,
           .doc = "Tokens in prefill above which a rank is busy.",
           .range = Range{0, 1'000'000'000'000},
           .unset = "not looked at"},
          {.path = "ranks",
           .slot = &rule.ranks,
           .doc = "How many data-parallel ranks a worker has; one that tells nothing is free.",
           .range = Range{1, 1'024},
           .unset = "as many as tell of themselves"}};
}

}  // namespace lastcall::router
