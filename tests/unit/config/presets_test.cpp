#include "config/presets.hpp"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/text.hpp"
#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

EngineProfile profile_of(std::string const& yaml) {
  Loaded const loaded = load_text(yaml);
  EXPECT_THAT(texts(loaded.errors), IsEmpty());
  return resolve_engine(loaded.config);
}

TEST(Presets, Each_kind_has_the_preset_of_its_own_name) {
  for (auto const& [kind, name] :
       std::vector<std::pair<EngineKind, std::string>>{{EngineKind::vllm, "vllm"},
                                                       {EngineKind::sglang, "sglang"},
                                                       {EngineKind::trtllm, "trtllm"},
                                                       {EngineKind::dynamo, "dynamo"},
                                                       {EngineKind::custom, "custom"}}) {
    EXPECT_EQ(preset_of(kind).kind, kind);
    EXPECT_EQ(preset_of(kind).name, name);
    EXPECT_EQ(load_text("engine: {kind: " + name + "}\n").config.engine.kind, kind);
  }
}

TEST(Presets, Vllm_is_asked_for_its_health_and_dies_at_the_first_definite_failure) {
  EngineProfile const profile = profile_of("engine: {kind: vllm}\n");
  EXPECT_THAT(profile.checks,
              ElementsAre(HealthCheck{"engine", HttpCheck{"http://127.0.0.1:8000/health"},
                                      Duration{1s}, 1U}));
  EXPECT_THAT(profile.dead_statuses, ElementsAre(500U, 503U));
  EXPECT_EQ(profile.gauges,
            (EngineGauges{"http://127.0.0.1:8000/metrics", "vllm:num_requests_running",
                          "vllm:num_requests_waiting", "vllm:generation_tokens_total", true,
                          "vllm:kv_cache_usage_perc", Duration{1s}, "http://127.0.0.1:8000/load",
                          false, "engine"}));
  EXPECT_EQ(profile.probe, (TokenProbe{"http://127.0.0.1:8000/v1/completions",
                                       "http://127.0.0.1:8000/v1/models",
                                       {{"http://127.0.0.1:8000/is_sleeping", "is_sleeping"},
                                        {"http://127.0.0.1:8000/is_paused", "is_paused"}},
                                       "",
                                       true,
                                       true,
                                       "X-data-parallel-rank"}));
}

TEST(Presets, A_request_of_one_token_is_sent_where_its_form_is_known_or_configured) {
  EXPECT_TRUE(profile_of("engine: {kind: sglang}\n").probe);
  EXPECT_TRUE(profile_of("engine: {kind: trtllm}\n").probe);
  EXPECT_FALSE(profile_of("engine: {probe: {canary: true}}\n").probe);
  EXPECT_FALSE(profile_of("engine: {kind: vllm, probe: {barrier: false, canary: false}}\n").probe);
  EXPECT_FALSE(profile_of("engine: {kind: vllm}\ningress: {upstream: \"unix:/e\"}\n").probe);
  EXPECT_EQ(profile_of("engine: {probe: {url: \"http://h/v1/chat/completions\"}}\n").probe,
            (TokenProbe{"http://h/v1/chat/completions", "http://h/v1/models", {}, "", true, true}));
  EXPECT_EQ(profile_of("engine: {kind: vllm}\nidentity: {model: a}\n").probe->model, "a");
  EXPECT_EQ(
      profile_of("engine: {kind: vllm, probe: {model: b}}\nidentity: {model: a}\n").probe->model,
      "b");
}

TEST(Presets, Sglang_listens_on_its_own_port) {
  EngineProfile const profile = profile_of("engine: {kind: sglang}\n");
  EXPECT_THAT(profile.checks,
              ElementsAre(HealthCheck{"engine", HttpCheck{"http://127.0.0.1:30000/health"},
                                      Duration{1s}, 2U}));
  EXPECT_EQ(profile.upstream, (Address{"127.0.0.1", 30'000}));
  ASSERT_TRUE(profile.gauges);
  EXPECT_EQ(profile.gauges->waiting, "sglang:num_queue_reqs");
  EXPECT_EQ(profile.gauges->refresh, 1s);
  EXPECT_EQ(profile.gauges->load_url, "");
}

TEST(Presets, Dynamo_counts_from_acceptance_unless_another_gauge_is_named) {
  EngineProfile const profile = profile_of("engine: {kind: dynamo}\n");
  EXPECT_THAT(profile.checks,
              ElementsAre(HealthCheck{"engine", HttpCheck{"http://127.0.0.1:8081/health"},
                                      Duration{1s}, 2U}));
  ASSERT_TRUE(profile.gauges);
  EXPECT_EQ(profile.gauges->running, "dynamo_component_inflight_requests");
  EXPECT_TRUE(profile.gauges->running_is_load);
  EXPECT_TRUE(profile.gauges->load_counts);
  EXPECT_FALSE(profile.probe) << "its server has no work to ask for";
  auto const other = profile_of("engine: {kind: dynamo, metrics: {running: some_gauge}}\n").gauges;
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->running_is_load);
  EXPECT_FALSE(other->load_counts);
}

TEST(Presets, Trtllm_has_its_gauges_under_their_own_path) {
  EngineProfile const profile = profile_of("engine: {kind: trtllm}\n");
  ASSERT_TRUE(profile.gauges);
  EXPECT_EQ(profile.gauges->url, "http://127.0.0.1:8000/prometheus/metrics");
}

TEST(Presets, Custom_knows_nothing_but_the_process) {
  EngineProfile const profile = profile_of("");
  EXPECT_THAT(profile.checks, IsEmpty());
  EXPECT_FALSE(profile.gauges);
  EXPECT_FALSE(profile.probe);
}

TEST(Presets, Custom_tries_the_connection_that_the_ingress_needs) {
  EXPECT_THAT(profile_of("ingress: {upstream: \"127.0.0.1:9\"}\n").checks,
              ElementsAre(HealthCheck{"engine", TcpCheck{{"127.0.0.1", 9}}, Duration{1s}, 2U}));
}

TEST(Presets, The_ingress_upstream_may_be_a_unix_socket) {
  EngineProfile const profile = profile_of("ingress: {upstream: \"unix:/run/e.sock\"}\n");
  EXPECT_EQ(profile.upstream_socket, "/run/e.sock");
  EXPECT_TRUE(profile.checks.empty()) << "no connection to an address that nobody named";
}

TEST(Presets, The_ingress_upstream_is_where_the_engine_is) {
  EngineProfile const profile =
      profile_of("engine: {kind: vllm}\ningress: {upstream: \"[::1]:9\"}\n");
  EXPECT_EQ(std::get<HttpCheck>(profile.checks.at(0).kind).url, "http://[::1]:9/health");
  EXPECT_EQ(profile.gauges.value().url, "http://[::1]:9/metrics");
}

TEST(Presets, The_engine_url_goes_over_the_upstream_and_gives_it_where_unset) {
  EngineProfile const profile = profile_of("engine: {kind: vllm, url: \"http://h:5/base/\"}\n");
  EXPECT_EQ(profile.upstream, (Address{"h", 5}));
  EXPECT_EQ(std::get<HttpCheck>(profile.checks.at(0).kind).url, "http://h:5/base/health");
  EXPECT_EQ(profile_of("engine: {kind: vllm, url: \"http://h:5\"}\n"
                       "ingress: {upstream: \"127.0.0.1:9\"}\n")
                .upstream,
            (Address{"127.0.0.1", 9}));
}

TEST(Presets, A_set_key_overrides_the_preset) {
  EngineProfile const profile = profile_of(
      "engine: {kind: vllm, metrics: {running: r, refresh: 3s}}\n"
      "health: {failure_threshold: 4, dead_statuses: [], checks: [{name: a, ipc: {}},"
      " {name: b, ipc: {}, failure_threshold: 7}]}\n");
  EXPECT_THAT(profile.checks, ElementsAre(HealthCheck{"a", IpcCheck{}, Duration{1s}, 4U},
                                          HealthCheck{"b", IpcCheck{}, Duration{1s}, 7U}));
  EXPECT_THAT(profile.dead_statuses, IsEmpty());
  EXPECT_EQ(profile.gauges.value().running, "r");
  EXPECT_EQ(profile.gauges.value().waiting, "vllm:num_requests_waiting");
  EXPECT_EQ(profile.gauges.value().refresh, 3s);
}

TEST(Presets, A_token_counter_of_the_users_choice_is_taken_at_its_word) {
  EXPECT_FALSE(profile_of("engine: {kind: sglang}\n").gauges.value().tokens_are_live);
  EngineProfile const profile = profile_of("engine: {kind: sglang, metrics: {tokens: t}}\n");
  EXPECT_EQ(profile.gauges.value().tokens, "t");
  EXPECT_TRUE(profile.gauges.value().tokens_are_live);
}

TEST(Presets, The_stop_signal_is_the_presets_unless_it_is_set) {
  EXPECT_EQ(profile_of("engine: {kind: vllm}\n").stop_signal, "SIGTERM");
  EXPECT_EQ(profile_of("engine: {kind: vllm, stop_signal: SIGINT}\n").stop_signal, "SIGINT");
}

TEST(Presets, Custom_has_gauges_once_they_are_named) {
  EXPECT_EQ(profile_of("engine: {metrics: {url: \"http://h/m\", running: r}}\n").gauges,
            (EngineGauges{"http://h/m", "r", "", "", false, "", Duration{1s}, "", false}));
}

std::string cell(std::string_view text) {
  return text.empty() ? "none" : "`" + std::string(text) + "`";
}

TEST(Presets, The_documented_table_is_what_is_in_the_code) {
  using Cell = std::function<std::string(EnginePreset const&)>;
  std::vector<std::pair<std::string, Cell>> const rows{
      {"address", [](auto const& p) { return cell(to_text(p.address)); }},
      {"health", [](auto const& p) { return cell(p.health_path); }},
      {"dead statuses",
       [](auto const& p) {
         std::string text;
         for (std::uint32_t const status : p.dead_statuses) {
           text += (text.empty() ? "" : ", ") + std::to_string(status);
         }
         return text;
       }},
      {"failures that are fatal",
       [](auto const& p) { return std::to_string(p.failure_threshold); }},
      {"stop signal", [](auto const& p) { return cell(p.stop_signal); }},
      {"gauges at", [](auto const& p) { return cell(p.metrics_path); }},
      {"running", [](auto const& p) { return cell(p.running_gauge); }},
      {"waiting", [](auto const& p) { return cell(p.waiting_gauge); }},
      {"tokens", [](auto const& p) { return cell(p.tokens_counter); }},
      {"tokens rise with each token",
       [](auto const& p) { return std::string(p.tokens_are_live ? "yes" : "no"); }},
      {"running counts from acceptance",
       [](auto const& p) { return std::string(p.running_is_accepted ? "yes" : "no"); }},
      {"rank of a gauge", [](auto const& p) { return cell(p.rank_label); }},
      {"header that chooses a rank", [](auto const& p) { return cell(p.rank_header); }},
      {"load counter at", [](auto const& p) { return cell(p.load_path); }},
      {"one token at", [](auto const& p) { return cell(p.completions_path); }},
      {"sleep and pause show at",
       [](auto const& p) {
         std::string text = p.at_rest_paths.empty() ? "none" : "";
         for (auto const& [path, member] : p.at_rest_paths) {
           text += (text.empty() ? "" : ", ") + cell(path);
         }
         return text;
       }},
      {"refresh", [](auto const& p) { return to_text(p.gauge_refresh); }},
  };
  std::string const page = read_text(LASTCALL_DOCS "/engines.md");
  for (auto const& [name, text_of] : rows) {
    std::string row = "| " + name;
    for (EngineKind const kind : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm,
                                  EngineKind::dynamo, EngineKind::custom}) {
      row += " | " + text_of(preset_of(kind));
    }
    EXPECT_NE(page.find("\n" + row + " |"), std::string::npos) << "docs/engines.md lacks: " << row;
  }
}

TEST(Presets, The_page_lists_the_control_paths_of_each_kind) {
  auto const row = [](EnginePreset const& preset, std::string_view key, auto const& paths) {
    std::string text = "| `" + std::string(preset.name) + "` | `" + std::string(key) + "` |";
    for (std::string_view const path : paths) {
      text += (text.ends_with('|') ? " `" : ", `") + std::string(path) + "`";
    }
    return text + " |\n";
  };
  std::string const page = read_text(LASTCALL_DOCS "/engines.md");
  EnginePreset const& custom = preset_of(EngineKind::custom);
  for (EngineKind const kind :
       {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm, EngineKind::dynamo}) {
    EnginePreset const& preset = preset_of(kind);
    EXPECT_NE(page.find(row(preset, "access", preset.control_paths)), std::string::npos)
        << row(preset, "access", preset.control_paths);
    EXPECT_NE(page.find(row(preset, "status_access", preset.status_paths)), std::string::npos)
        << row(preset, "status_access", preset.status_paths);
    for (std::string_view const path : preset.control_paths) {
      EXPECT_NE(std::find(custom.control_paths.begin(), custom.control_paths.end(), path),
                custom.control_paths.end())
          << path;
      EXPECT_EQ(std::find(custom.status_paths.begin(), custom.status_paths.end(), path),
                custom.status_paths.end())
          << path << " would be open where the kind is not known";
    }
  }
}

TEST(Presets, Routers_receive_the_pod_and_the_port_that_serves) {
  Config config = load_text("engine: {kind: vllm}\ningress: {listen: \"[::]:81\"}\n").config;
  EXPECT_EQ(resolve_advertise(config, "10.0.0.7"), "http://10.0.0.7:81");
  EXPECT_EQ(resolve_advertise(config, "fd00::7"), "http://[fd00::7]:81");
  EXPECT_EQ(resolve_advertise(config, std::nullopt), std::nullopt);
  config.ingress.enabled = false;
  EXPECT_EQ(resolve_advertise(config, "10.0.0.7"), "http://10.0.0.7:8000");
  config.identity.advertise = "http://x";
  EXPECT_EQ(resolve_advertise(config, std::nullopt), "http://x");
}

}  // namespace
}  // namespace lastcall::config
