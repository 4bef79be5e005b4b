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
      {{.path = "load", .slot = Section{}, .doc = "Load reports of workers."},
       {.path = "load.interval",
        .slot = &load.interval,
        .doc = "Interval between requests for a worker's load (`GET /metrics`), counted from its "
               "last answer.",
        .range = within(10ms, 10min),
        .unset = "no load is read"},
       {.path = "load.max_age",
        .slot = &load.max_age,
        .doc = "How long an answer is valid; a rank without a report for longer counts as free.",
        .range = within(10ms, 1h),
        .live = true},
       {.path = "load.port",
        .slot = &load.port,
        .doc =
            "Port on a worker's host that answers them, such as 7090 of lastcall's probes, which "
            "report every rank.",
        .range = Range{1, 65'535},
        .unset = "the port of its URL"}});
}

void add_rejection_keys(config::Keys& keys, Rejection& rejection) {
  keys.insert(keys.end(),
              {{.path = "rejection",
                .slot = Section{},
                .doc = "Refusals with 503 when all workers of a model are busy."},
               {.path = "rejection.thresholds",
                .slot = config::items(rejection.thresholds),
                .doc = "Load above which a rank is busy, for each model; without an entry no "
                       "worker is busy.",
                .live = true},
               {.path = "rejection.http_api",
                .slot = &rejection.http_api,
                .doc = "Whether `operators` serves `GET` and `POST /busy_threshold`."},
               {.path = "rejection.http_token",
                .slot = &rejection.http_token,
                .doc = "Value of the header `X-Lastcall-Token` that a request must carry to set "
                       "`/busy_threshold`; reading needs none.",
                .form = &config::kToken,
                .unset = "no token is required; restrict access to the port by a NetworkPolicy",
                .env = "LASTCALL_ROUTER_TOKEN",
                .secret = true}});
}

config::Keys keys_of(ThresholdRule& rule) {
  return {{.path = "model",
           .slot = &rule.model,
           .doc = "Name of the model; if empty, all models without an entry of their own, and "
                  "workers that serve any model.",
           .form = &config::kAnyText},
          {.path = "active_decode_blocks_threshold",
           .slot = &rule.active_decode_blocks,
           .doc = "Share of KV cache blocks in use above which a rank is busy.",
           .range = Range{0, 1},
           .unset = "not considered"},
          {.path = "active_prefill_tokens_threshold",
           .slot = &rule.active_prefill_tokens,
           .doc = "Tokens in prefill above which a rank is busy.",
           .range = Range{0, 1'000'000'000'000},
           .unset = "not considered"},
          {.path = "ranks",
           .slot = &rule.ranks,
           .doc = "Number of data-parallel ranks of a worker; a rank without a report counts as "
                  "free.",
           .range = Range{1, 1'024},
           .unset = "as many ranks as report"}};
}

}  // namespace lastcall::router
