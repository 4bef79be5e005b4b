// Settings as one line: what differs from the defaults.
#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

constexpr std::array<std::string_view, 2> kMigrate{"at_end", "at_start"};
constexpr std::array<std::string_view, 2> kSecondSignal{"ignore", "force"};
constexpr std::array<std::string_view, 3> kAfterStop{"auto", "rearm", "exit"};
constexpr std::array<std::string_view, 2> kOnExit{"fatal", "propagate"};

template <typename Enum, std::size_t N>
void read_word(Words& words, std::string_view key, std::array<std::string_view, N> const& table,
               Enum& into) {
  if (auto const word = words.key(key)) {
    auto const value = vocabulary::find_word<Enum>(table, *word);
    if (!value) {
      throw ScenarioError("cannot read " + std::string(key) + "=" + *word);
    }
    into = *value;
  }
}

template <typename Enum, std::size_t N>
void put_word(Line& line, std::string_view key, std::array<std::string_view, N> const& table,
              Enum value) {
  if (static_cast<std::size_t>(value) != 0) {
    line.key(key, vocabulary::word_of(table, value));
  }
}

void put_changed(Line& line, std::string_view key, Duration value, Duration standard) {
  if (value != standard) {
    line.key(key, value);
  }
}

/// Every duration that a scenario may set, by its key.
template <typename SettingsRef, typename Visitor>
void for_each_duration(SettingsRef& s, Visitor&& visit) {
  visit("grace", s.shutdown.grace_period);
  visit("deregister_timeout", s.shutdown.deregister_timeout);
  visit("late_accept", s.shutdown.late_accept);
  visit("reserve", s.shutdown.cleanup_reserve);
  visit("settle", s.shutdown.cancel_settle);
  visit("drain_unknown", s.shutdown.drain_unknown);
  visit("unresponsive_after", s.health.unresponsive_after);
  visit("reconnect_window", s.reconnect_window);
  visit("rest_grace", s.rest_grace);
}

template <typename SettingsRef, typename Visitor>
void for_each_optional(SettingsRef& s, Visitor&& visit) {
  visit("pod_grace", s.pod_grace);
  visit("stalled_after", s.health.stalled_after);
  visit("startup_timeout", s.health.startup_timeout);
  visit("gauge_refresh", s.gauge_refresh);
}

template <typename SettingsRef, typename Visitor>
void for_each_flag(SettingsRef& s, Visitor&& visit) {
  visit("hooks", s.cleanup_hooks);
  visit("paths", s.cleanup_paths);
  visit("events", s.events);
  visit("exclusive", s.ingress_is_exclusive);
  visit("lifecycle_hooks", s.lifecycle_hooks);
  visit("main_ends_workers", s.main_ends_workers);
  visit("tokens_show_stalls", s.health.tokens_show_stalls);
  visit("load_counts", s.load_counts);
  visit("barrier", s.token.barrier);
  visit("canary", s.token.canary);
}

}  // namespace

std::string text_of(Settings const& settings) {
  Settings const standard;
  Line line("settings");
  if (settings.registries != 0) {
    line.key("registries", std::int64_t{settings.registries});
  }
  if (!settings.health.checks.empty()) {
    line.key("checks", static_cast<std::int64_t>(settings.health.checks.size()));
    line.key("failure_threshold", std::int64_t{settings.health.checks[0].failure_threshold});
  }
  if (settings.peer_requests != standard.peer_requests) {
    line.key("peer_requests", std::int64_t{settings.peer_requests});
  }
  std::vector<Duration> defaults;
  for_each_duration(standard, [&](auto, Duration const& d) { defaults.push_back(d); });
  std::size_t next = 0;
  for_each_duration(
      settings, [&](auto key, Duration const& d) { put_changed(line, key, d, defaults[next++]); });
  for_each_optional(settings, [&](auto key, auto const& d) { line.key(key, d); });
  for_each_flag(settings, [&](auto key, bool set) { line.flag(key, set); });
  line.flag("no_events_reserved", !settings.shutdown.events);
  line.flag("no_registries_reserved", !settings.shutdown.registries);
  put_word(line, "migrate", kMigrate, settings.migrate);
  put_word(line, "second_signal", kSecondSignal, settings.second_signal);
  put_word(line, "after_stop", kAfterStop, settings.after_stop);
  put_word(line, "on_exit", kOnExit, settings.on_exit);
  put_admission(line, settings.admission);
  put_load(line, settings.load);
  if (settings.stop_signal != standard.stop_signal) {
    line.key("stop_signal", settings.stop_signal);
  }
  if (!settings.essential_processes.empty()) {
    line.key("essential", settings.essential_processes.front());
  }
  return line.take();
}

Settings parse_settings(std::string_view text) {
  Words words(text);
  words.next("the word 'settings'");
  Settings s;
  s.registries = static_cast<std::uint32_t>(words.number("registries").value_or(0));
  s.peer_requests = static_cast<std::uint32_t>(
      words.number("peer_requests").value_or(std::int64_t{s.peer_requests}));
  auto const threshold = static_cast<std::uint32_t>(words.number("failure_threshold").value_or(2));
  for (std::int64_t i = 0, n = words.number("checks").value_or(0); i < n; ++i) {
    s.health.checks.push_back(
        {.name = "check" + std::to_string(i), .failure_threshold = threshold});
  }
  for_each_duration(s, [&](auto key, Duration& d) { d = words.duration(key).value_or(d); });
  for_each_optional(s, [&](auto key, auto& d) { d = words.duration(key); });
  for_each_flag(s, [&](auto key, bool& set) { set = words.flag(key); });
  s.shutdown.events = !words.flag("no_events_reserved");
  s.shutdown.registries = !words.flag("no_registries_reserved");
  read_word(words, "migrate", kMigrate, s.migrate);
  read_word(words, "second_signal", kSecondSignal, s.second_signal);
  read_word(words, "after_stop", kAfterStop, s.after_stop);
  read_word(words, "on_exit", kOnExit, s.on_exit);
  s.admission = parse_admission(words);
  s.load = parse_load_limits(words);
  s.stop_signal = words.key("stop_signal").value_or(s.stop_signal);
  if (auto const essential = words.key("essential")) {
    s.essential_processes = {std::string(*essential)};
  }
  words.finish();
  return s;
}

}  // namespace lastcall::simulation
