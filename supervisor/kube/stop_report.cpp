#include "supervisor/kube/stop_report.hpp"

#include <charconv>
#include <cstddef>

#include "supervisor/kube/json.hpp"

namespace lastcall::kube {
namespace {

using json::member;
using json::text;
using lifecycle::Outcome;

std::uint64_t number_of(Json const& json) {
  return json.is_number_unsigned() ? json.get<std::uint64_t>() : 0;
}

std::uint64_t& count_of(StopReport& report, std::size_t at) {
  return report.requests.at(at);
}

/// The number before `word`: 4 for "completed" in "; requests: 4 completed, ".
std::optional<std::uint64_t> number_before(std::string_view message, std::string_view word) {
  auto const at = message.find(" " + std::string(word));
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  auto const begin = message.find_last_not_of("0123456789", at == 0 ? 0 : at - 1) + 1;
  std::uint64_t number = 0;
  auto const read = std::from_chars(message.data() + begin, message.data() + at, number);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

std::uint64_t StopReport::lost() const {
  return requests.at(static_cast<std::size_t>(Outcome::lost)) +
         requests.at(static_cast<std::size_t>(Outcome::engine_dead)) + cut;
}

std::optional<StopReport> read_report(std::string_view message) {
  std::string_view const line = message.substr(0, message.find('\n'));
  Json const json = json::parsed<Json>(line);
  Json const& cause = member(json, "cause");
  if (!cause.is_string()) {
    return std::nullopt;
  }
  StopReport report{.text = std::string(line),
                    .cause = text(cause),
                    .is_graceful = text(member(json, "mode")) != "fatal"};
  Json const& requests = member(json, "requests");
  for (std::size_t i = 0; i < lifecycle::kOutcomes; ++i) {
    std::string const word(lifecycle::vocabulary::kWordsOf<lifecycle::Outcome>.at(i));
    count_of(report, i) = number_of(member(requests, word.c_str()));
  }
  std::string const source = text(member(json, "in_flight"));
  Json const& in_starting = member(json, "stopped_in_starting");
  bool const is_before_any = in_starting.is_boolean() && in_starting.get<bool>();
  report.is_known =
      is_before_any || (requests.is_object() && !source.empty() && source != "unknown");
  // A supervisor that died was the only one to count these.
  report.is_known = report.is_known && number_of(member(json, "in_flight_at_phase")) == 0;
  if (source == "gauges") {
    report.cut = number_of(member(json, "in_flight_at_end"));
  }
  return report;
}

std::optional<StopReport> read_event(std::string_view reason, std::string_view message) {
  auto const counts = message.find("; requests: ");
  bool const is_report = reason == "Drained" || reason == "DrainIncomplete";
  if (!is_report || counts == std::string_view::npos) {
    return std::nullopt;
  }
  auto const colon = message.find(" stop: ");
  StopReport report{.text = std::string(message),
                    .is_graceful = !message.starts_with("fatal"),
                    .is_known = message.find("; in flight unknown") == std::string_view::npos};
  if (colon != std::string_view::npos) {
    report.cause = message.substr(colon + 7, message.find(';') - colon - 7);
  }
  std::string_view const numbers = message.substr(counts + 2);
  bool any = false;
  for (std::size_t i = 0; i < lifecycle::kOutcomes; ++i) {
    auto const number =
        number_before(numbers, lifecycle::vocabulary::kWordsOf<lifecycle::Outcome>.at(i));
    count_of(report, i) = number.value_or(0);
    any = any || count_of(report, i) > 0;
  }
  if (!any) {  // only the engine's gauges knew of requests
    report.cut = number_before(numbers, "in flight at the end").value_or(0);
  }
  return report;
}

}  // namespace lastcall::kube
