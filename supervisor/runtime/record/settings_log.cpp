#include "supervisor/runtime/record/settings_log.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/vocabulary.hpp"

namespace lastcall::runtime::event_log {
namespace {

using Json = nlohmann::ordered_json;
using lifecycle::Duration;

/// No duration of ours is longer; more would overflow where it is added to an instant.
constexpr std::int64_t kLongestSettingMs = 1'000'000'000'000'000;
constexpr std::int64_t kMostChecks = 10'000;
constexpr std::int64_t kMostCount = 1'000'000'000'000;

constexpr std::array<std::string_view, 2> kMigrate{"at_end", "at_start"};
constexpr std::array<std::string_view, 2> kSecondSignal{"ignore", "force"};
constexpr std::array<std::string_view, 3> kAfterStop{"auto", "rearm", "exit"};
constexpr std::array<std::string_view, 2> kOnExit{"fatal", "propagate"};

/// The bindings make a member that is new in the struct an error of the compiler.
template <typename SettingsRef, typename Visitor>
void visit(SettingsRef& settings, Visitor&& v) {
  auto& [shutdown, pod_grace, migrate, second_signal, after_stop, on_exit, lifecycle_hooks,
         stop_signal, rest_grace, main_ends_workers, essential_processes, health, registries,
         cleanup_hooks, cleanup_paths, events, exclusive, reconnect_window, peer_requests,
         gauge_refresh, load_counts, token, admission, load] = settings;
  auto& [barrier, canary] = token;
  auto& [grace_period, deregister_timeout, late_accept, reserve, settle, drain_unknown,
         events_reserved, registries_reserved] = shutdown;
  auto& [running, waiting, wait_timeout, first_byte, priorities] = admission;
  auto& [decode_ppm, prefill_tokens, max_age, ranks] = load;
  auto& [checks, unresponsive_after, stalled_after, tokens_show_stalls, startup_timeout] = health;
  v("grace_period_ms", grace_period);
  v("deregister_timeout_ms", deregister_timeout);
  v("late_accept_ms", late_accept);
  v("cleanup_reserve_ms", reserve);
  v("cancel_settle_ms", settle);
  v("drain_unknown_ms", drain_unknown);
  v("events_reserved", events_reserved);
  v("registries_reserved", registries_reserved);
  v("pod_grace_ms", pod_grace);
  v.word("migrate", kMigrate, migrate);
  v.word("second_signal", kSecondSignal, second_signal);
  v.word("after_stop", kAfterStop, after_stop);
  v.word("on_exit", kOnExit, on_exit);
  v("lifecycle_hooks", lifecycle_hooks);
  v("stop_signal", stop_signal);
  v("rest_grace_ms", rest_grace);
  v("main_ends_workers", main_ends_workers);
  v("essential_processes", essential_processes);
  v("checks", checks);
  v("unresponsive_after_ms", unresponsive_after);
  v("stalled_after_ms", stalled_after);
  v("tokens_show_stalls", tokens_show_stalls);
  v("startup_timeout_ms", startup_timeout);
  v("registries", registries);
  v("cleanup_hooks", cleanup_hooks);
  v("cleanup_paths", cleanup_paths);
  v("events", events);
  v("ingress_is_exclusive", exclusive);
  v("reconnect_window_ms", reconnect_window);
  v("peer_requests", peer_requests);
  v("gauge_refresh_ms", gauge_refresh);
  v("load_counts", load_counts);
  v("barrier", barrier);
  v("canary", canary);
  v("admission_running", running);
  v("admission_waiting", waiting);
  v("admission_wait_timeout_ms", wait_timeout);
  v("admission_first_byte", first_byte);
  v("admission_priorities", priorities);
  v("load_decode_ppm", decode_ppm);
  v("load_prefill_tokens", prefill_tokens);
  v("load_max_age_ms", max_age);
  v("load_ranks", ranks);
}

class SettingsWriter {
 public:
  void operator()(char const* key, Duration value) { json_[key] = value.count(); }
  template <typename T>
  void operator()(char const* key, std::optional<T> const& value) {
    if (value) {
      (*this)(key, *value);
    }
  }
  void operator()(char const* key, std::vector<lifecycle::CheckSettings> const& checks) {
    Json list = Json::array();
    for (auto const& [name, failure_threshold] : checks) {
      list.push_back({{"name", name}, {"failure_threshold", failure_threshold}});
    }
    json_[key] = std::move(list);
  }
  template <typename T>
  void operator()(char const* key, T const& value) {
    json_[key] = value;
  }
  template <typename Enum, std::size_t N>
  void word(char const* key, std::array<std::string_view, N> const& words, Enum value) {
    json_[key] = lifecycle::vocabulary::word_of(words, value);
  }

  std::string text() const { return json_.dump(-1, ' ', false, Json::error_handler_t::replace); }

 private:
  Json json_ = Json::object();
};

class SettingsReader {
 public:
  explicit SettingsReader(Json const& json) : json_(json) {}

  std::string const& problem() const { return problem_; }

  template <typename T>
  void operator()(char const* key, T& value) {
    auto const found = json_.find(key);
    if (found != json_.end() && !take(*found, value)) {
      refuse(key);
    }
  }
  template <typename Enum, std::size_t N>
  void word(char const* key, std::array<std::string_view, N> const& words, Enum& value) {
    std::string text;
    (*this)(key, text);
    if (!text.empty()) {
      auto const known = lifecycle::vocabulary::find_word<Enum>(words, text);
      value = known.value_or(value);
      if (!known) {
        refuse(key);
      }
    }
  }

 private:
  static std::optional<std::int64_t> number_of(Json const& json, std::int64_t most) {
    if (!json.is_number_integer()) {
      return std::nullopt;
    }
    auto const number = json.get<std::int64_t>();
    return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
  }
  static bool take(Json const& json, std::vector<std::string>& texts) {
    for (Json const& item : json) {
      if (!take(item, texts.emplace_back())) {
        return false;
      }
    }
    return json.is_array();
  }
  static bool take(Json const& json, Duration& value) {
    auto const number = number_of(json, kLongestSettingMs);
    value = Duration{number.value_or(0)};
    return number.has_value();
  }
  template <typename T>
  static bool take(Json const& json, std::optional<T>& value) {
    return take(json, value.emplace());
  }
  static bool take(Json const& json, bool& value) {
    value = json.is_boolean() && json.get<bool>();
    return json.is_boolean();
  }
  static bool take(Json const& json, std::string& value) {
    value = json.is_string() ? json.get<std::string>() : std::string();
    return json.is_string();
  }
  static bool take(Json const& json, std::uint32_t& value) {
    auto const number = number_of(json, std::numeric_limits<std::uint32_t>::max());
    value = static_cast<std::uint32_t>(number.value_or(0));
    return number.has_value();
  }
  static bool take(Json const& json, std::uint64_t& value) {
    auto const number = number_of(json, kMostCount);
    value = static_cast<std::uint64_t>(number.value_or(0));
    return number.has_value();
  }
  static bool take(Json const& json, std::vector<lifecycle::CheckSettings>& checks) {
    if (!json.is_array() || json.size() > kMostChecks) {
      return false;
    }
    for (Json const& item : json) {
      lifecycle::CheckSettings& check = checks.emplace_back();
      if (!item.is_object() || !take(item.value("name", Json()), check.name) ||
          !take(item.value("failure_threshold", Json()), check.failure_threshold)) {
        return false;
      }
    }
    return true;
  }
  void refuse(std::string_view key) {
    if (problem_.empty()) {
      problem_ = std::string(key) + ": not a value of that setting";
    }
  }

  Json const& json_;
  std::string problem_;
};

}  // namespace

std::string encode(lifecycle::Settings const& settings) {
  SettingsWriter writer;
  visit(settings, writer);
  return writer.text();
}

DecodedSettings decode_settings(std::string_view text) {
  Json const json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return {std::nullopt, "expected a JSON object"};
  }
  lifecycle::Settings settings;
  SettingsReader reader(json);
  visit(settings, reader);
  if (!reader.problem().empty()) {
    return {std::nullopt, reader.problem()};
  }
  return {std::move(settings), {}};
}

}  // namespace lastcall::runtime::event_log
