#include "supervisor/runtime/record/replay.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "supervisor/runtime/record/event_log.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kKinds{R"(core starts")", R"(step")",
                                                 R"(cancels taken")"};
constexpr std::int64_t kLatestMs = 1'000'000'000'000'000;

}  // namespace

std::string misfit(lifecycle::Lifecycle const& core, lifecycle::Event const& event) {
  if (auto const* check = std::get_if<lifecycle::CheckFinished>(&event)) {
    return check->check < core.health().rows().size() ? "" : "check: there is no such check";
  }
  if (auto const* limits = std::get_if<lifecycle::HealthLimitsChanged>(&event)) {
    return limits->failure_thresholds.size() == core.health().rows().size()
               ? ""
               : "failure_thresholds: expected one for each check";
  }
  if (auto const* settled = std::get_if<lifecycle::RegistrySettled>(&event)) {
    return settled->registry < core.registries().size() ? ""
                                                        : "registry: there is no such registry";
  }
  if (auto const* hello = std::get_if<lifecycle::ShimHello>(&event)) {
    return core.accepts_shim(hello->boot) ? "" : "boot: another shim has not finished";
  }
  return {};
}

/// A record of the step log; `fields` is the whole line.
struct Replay::Record {
  Json fields;
  std::uint64_t number = 0;

  Json const& at(char const* key) const {
    static Json const kNothing;
    auto const found = fields.find(key);
    return found == fields.end() ? kNothing : *found;
  }
  /// Absent if it is not a number from 0 to `most`.
  std::optional<std::int64_t> number_at(char const* key, std::int64_t most) const {
    Json const& json = at(key);
    if (!json.is_number_integer()) {
      return std::nullopt;
    }
    auto const value = json.get<std::int64_t>();
    return value >= 0 && value <= most ? std::optional(value) : std::nullopt;
  }
};

struct Replay::Life {
  explicit Life(lifecycle::Settings settings) : core(std::move(settings)) {}

  lifecycle::Lifecycle core;
  std::uint64_t last_number = 0;
  lifecycle::Instant last_at{};
};

Replay::Replay() = default;
Replay::~Replay() = default;

bool Replay::disagree(std::string problem) {
  mismatch_ = {.line = line_, .problem = std::move(problem), .recorded = {}, .replayed = {}};
  return false;
}

bool Replay::take(std::string_view line) {
  ++line_;
  // Log collectors add their own text before a line.
  std::size_t const start_of_json = line.find("{\"ts\":");
  if (start_of_json == std::string_view::npos) {
    return true;
  }
  // Inside another text, the quotes would be escaped.
  bool const may_be_ours = std::any_of(kKinds.begin(), kKinds.end(), [&](std::string_view kind) {
    return line.find(std::string(R"("msg":")") += kind, start_of_json) != line.npos;
  });
  Record record{.fields =
                    may_be_ours ? Json::parse(line.substr(start_of_json), nullptr, false) : Json()};
  bool const is_object = record.fields.is_object();
  std::string const kind =
      is_object && record.at("msg").is_string() ? record.at("msg").get<std::string>() : "";
  bool const is_start = kind == "core starts";
  if (may_be_ours && record.fields.is_discarded()) {
    return disagree("not valid JSON: the line was cut or changed");
  }
  if (!is_start && kind != "step" && kind != "cancels taken") {
    return true;
  }
  auto const number = record.number_at("n", std::int64_t{1} << 62U);
  if (!number) {
    return disagree("n: expected the number of the record");
  }
  record.number = static_cast<std::uint64_t>(*number);
  if (is_start) {
    return start(record);
  }
  if (!life_) {
    return disagree(
        "the log does not begin with a start of the supervisor (`core starts`): expected level "
        "debug from its first line on");
  }
  if (record.number != life_->last_number + 1) {
    return disagree("records are missing: this is number " + std::to_string(record.number) +
                    ", expected " + std::to_string(life_->last_number + 1));
  }
  life_->last_number = record.number;
  return kind == "step" ? step(record) : taken(record);
}

bool Replay::start(Record const& record) {
  event_log::DecodedSettings decoded =
      event_log::decode_settings(json::dump(record.at("settings")));
  if (!decoded.settings) {
    return disagree("settings: " + decoded.problem);
  }
  if (record.number != 0) {
    return disagree("n: expected 0 at a start");
  }
  Json const& version = record.at("version");
  if (version.is_string() && version != LASTCALL_VERSION) {
    other_version_ = version.get<std::string>();
  }
  life_ = std::make_unique<Life>(std::move(*decoded.settings));
  ++lives_;
  return true;
}

bool Replay::step(Record const& record) {
  auto const at_ms = record.number_at("at_ms", kLatestMs);
  if (!at_ms || lifecycle::instant_from_ms(*at_ms) < life_->last_at) {
    return disagree("at_ms: expected an instant that is not before the last");
  }
  event_log::Decoded const decoded = event_log::decode_event(json::dump(record.at("event")));
  if (!decoded.event) {
    return disagree("event: " + decoded.problem);
  }
  if (std::string const why = misfit(life_->core, *decoded.event); !why.empty()) {
    return disagree("event: " + why);
  }
  life_->last_at = lifecycle::instant_from_ms(*at_ms);
  ++steps_;
  return compare(record, event_log::encode(life_->core.step(life_->last_at, *decoded.event)));
}

bool Replay::taken(Record const& record) {
  auto const peer = record.number_at("peer", std::int64_t{1} << 62U);
  auto const most = record.number_at("max", 1'000'000);
  auto const ids = record.number_at("ids", 1'000'000);
  if (!peer || !most || !ids) {
    return disagree("cancels taken: expected peer, max and ids");
  }
  std::size_t const count =
      life_->core
          .take_cancels(static_cast<lifecycle::PeerId>(*peer), static_cast<std::size_t>(*most))
          .ids.size();
  return count == static_cast<std::size_t>(*ids) ||
         disagree("cancels taken: " + std::to_string(count) + " ids, but " + std::to_string(*ids) +
                  " were recorded");
}

bool Replay::compare(Record const& record, std::string const& replayed_text) {
  Json const replayed = Json::parse(replayed_text, nullptr, false);
  Json const& recorded = record.at("actions");
  if (!recorded.is_array()) {
    return disagree("actions: expected a list");
  }
  if (recorded == replayed) {
    return true;
  }
  std::size_t const count = std::min(recorded.size(), replayed.size());
  std::size_t index = 0;
  while (index < count && recorded[index] == replayed[index]) {
    ++index;
  }
  auto const action = [index](Json const& actions) {
    return index < actions.size() ? json::dump(actions[index]) : std::string("nothing");
  };
  disagree("step " + std::to_string(record.number) + " (" +
           record.at("event").value("type", std::string()) + "): action " +
           std::to_string(index + 1) + " differs");
  mismatch_->recorded = action(recorded);
  mismatch_->replayed = action(replayed);
  return false;
}

}  // namespace lastcall::runtime
