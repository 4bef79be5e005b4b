// Lines of the scenario language as events; event_print.cpp writes them.
#include <functional>
#include <map>

#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

template <typename T>
T known(std::optional<T> value, std::string const& word) {
  if (!value) {
    throw ScenarioError("cannot read '" + word + "': not a word of that set");
  }
  return *value;
}

template <typename Enum, std::size_t N>
Enum word_in(std::array<std::string_view, N> const& table, std::string const& word) {
  return known(vocabulary::find_word<Enum>(table, word), word);
}

constexpr std::array<std::string_view, 4> kCheckVerdicts{"passed", "busy", "failed", "timed_out"};

std::vector<std::string> rest_of(Words& words) {
  std::vector<std::string> rest;
  while (auto word = words.next_if_any()) {
    rest.push_back(*std::move(word));
  }
  return rest;
}

EngineExit parse_exit(Words& words) {
  return {.code = static_cast<int>(words.number("code").value_or(0)),
          .signal = static_cast<int>(words.number("signal").value_or(0)),
          .oom = words.flag("oom")};
}

std::optional<std::uint32_t> parse_alive(Words& words) {
  auto const alive = words.number("alive");
  return alive ? std::optional(static_cast<std::uint32_t>(*alive)) : std::nullopt;
}

Event parse_tree(Words& words, Instant) {
  EngineTreeSeen e;
  e.alive = static_cast<std::uint32_t>(words.next_number("how many"));
  e.names = rest_of(words);
  return e;
}

Event parse_process_died(Words& words, Instant now) {
  EngineProcessDied e;
  e.pid = words.number("pid").value_or(0);
  e.signal = static_cast<int>(words.number("signal").value_or(0));
  e.at = words.instant("at").value_or(now);
  e.name = words.next("its name");
  return e;
}

Event parse_shim(Words& words, Instant) {
  ShimHello e;
  e.boot = words.text("boot");
  e.run = words.flag("run");
  e.engine = word_in<EngineState>(vocabulary::kEngineStates, words.text("engine"));
  e.exit = parse_exit(words);
  e.started_at = words.instant("started_at");
  e.exited_at = words.instant("exited_at");
  e.alive = parse_alive(words);
  e.ordered = words.flag("ordered");
  e.stop_at = words.instant("stop_at");
  e.blob = words.text("blob");
  return e;
}

Event parse_signal(Words& words, Instant now) {
  StopSignalHeld e;
  e.at = words.instant("at").value_or(now);
  e.name = words.next("the signal's name");
  return e;
}

Event parse_drain(Words& words, Instant) {
  return DrainRequested{.exit = words.flag("exit"), .timeout = words.duration("timeout")};
}

Event parse_cancel(Words& words, Instant) {
  CancelRequested e;
  std::string const mode = words.next("the mode");
  std::string const reason = words.next("the reason");
  e.mode = known(parse_cancel_mode(mode), mode);
  e.reason = known(parse_cancel_reason(reason), reason);
  e.by = words.peer("peer");
  e.root = words.text("root");
  e.ids = rest_of(words);
  return e;
}

Event parse_peer(Words& words, Instant) {
  PeerConnected e;
  e.critical = words.flag("critical");
  e.watched = words.flag("watched");
  e.name = words.text("name");
  e.live = static_cast<std::uint32_t>(words.number("live").value_or(0));
  e.peer = words.next_peer();
  return e;
}

Event parse_endpoint(Words& words, Instant) {
  EndpointRegistered e;
  e.peer = words.next_peer();
  e.endpoint = words.next("the endpoint");
  std::string const flag = words.next("graceful or not_graceful");
  if (flag != "graceful" && flag != "not_graceful") {
    throw ScenarioError("cannot read '" + flag + "': expected graceful or not_graceful");
  }
  e.graceful = flag == "graceful";
  return e;
}

Event parse_begin(Words& words, Instant) {
  RequestBegun e;
  if (std::string const stream = words.text("stream"); !stream.empty()) {
    e.stream = stream == "true";
  }
  e.admit = words.flag("admit");
  e.resumed = words.flag("resumed");
  e.root = words.text("root");
  e.parent = words.text("parent");
  e.endpoint = words.text("endpoint");
  e.model = words.text("model");
  e.priority = static_cast<std::uint8_t>(words.number("priority").value_or(kUsualPriority));
  if (auto const way = words.number("way")) {
    e.way = static_cast<std::uint64_t>(*way);
  }
  e.peer = words.next_peer();
  e.id = words.next("the id");
  return e;
}

template <typename T>
void read_count(Words& words, std::string_view key, std::optional<T>& into) {
  if (auto const number = words.number(key)) {
    into = static_cast<T>(*number);
  }
}

Event parse_load(Words& words, Instant) {
  LoadReported e;
  e.peer = words.peer("peer");
  read_count(words, "blocks", e.active_decode_blocks);
  read_count(words, "of", e.kv_total_blocks);
  read_count(words, "prefill", e.active_prefill_tokens);
  e.rank = static_cast<std::uint32_t>(words.next_number("the rank"));
  return e;
}

Event parse_end(Words& words, Instant) {
  RequestEnded e;
  e.peer = words.next_peer();
  e.id = words.next("the id");
  std::string const outcome = words.next("the outcome");
  e.outcome = known(parse_outcome(outcome), outcome);
  return e;
}

Event parse_gauges(Words& words, Instant) {
  if (words.flag("unreadable")) {
    return GaugesRead{};
  }
  GaugesRead reading{.in_flight = words.next_number("the figure"), .tokens = {}};
  if (auto const tokens = words.number("tokens")) {
    reading.tokens = static_cast<std::uint64_t>(*tokens);
  }
  if (auto const load = words.number("load")) {
    reading.load = static_cast<std::uint64_t>(*load);
  }
  if (auto const cache = words.number("cache")) {
    reading.cache = static_cast<std::uint64_t>(*cache);
  }
  return reading;
}

Event parse_token(Words& words, Instant) {
  std::uint64_t const number = words.next_number("the request's number");
  return TokenAnswered{
      .number = number,
      .outcome = word_in<TokenOutcome>(vocabulary::kTokenOutcomes, words.next("the outcome"))};
}

Event parse_registry(Words& words, Instant) {
  RegistrySettled e;
  e.registry = static_cast<std::uint32_t>(words.next_number("the registry"));
  std::string const outcome = words.next("confirmed or failed");
  if (outcome != "confirmed" && outcome != "failed") {
    throw ScenarioError("cannot read '" + outcome + "': expected confirmed or failed");
  }
  e.confirmed = outcome == "confirmed";
  e.detail = words.text("detail");
  return e;
}

Event parse_check(Words& words, Instant) {
  CheckFinished e;
  e.check = static_cast<std::uint32_t>(words.next_number("the check"));
  e.verdict = word_in<CheckVerdict>(kCheckVerdicts, words.next("the verdict"));
  e.detail = words.text("detail");
  e.took = words.duration("took").value_or(e.took);
  return e;
}

Event parse_health_limits(Words& words, Instant) {
  HealthLimitsChanged e;
  e.unresponsive_after = words.duration("unresponsive_after").value_or(e.unresponsive_after);
  e.stalled_after = words.duration("stalled_after");
  e.startup_timeout = words.duration("startup_timeout");
  for (std::string const& word : rest_of(words)) {
    Words number(word);
    e.failure_thresholds.push_back(static_cast<std::uint32_t>(number.next_number("a threshold")));
  }
  return e;
}

Event parse_cleanup(Words& words, Instant) {
  CleanupSettled e;
  e.item = word_in<CleanupItem>(vocabulary::kCleanupItems, words.next("the item"));
  e.outcome = word_in<ItemOutcome>(vocabulary::kItemOutcomes, words.next("the outcome"));
  e.detail = words.text("detail");
  return e;
}

Event parse_fatal(Words& words, Instant) {
  PeerFatal e;
  e.detail = words.text("detail");
  e.peer = words.next_peer();
  e.reason = words.next("the reason");
  return e;
}

using Parser = std::function<Event(Words&, Instant)>;

Event parse_stopped(Words& w, Instant /*now*/) {
  auto const pid = w.next_number("the process");
  return EngineProcessStopped{static_cast<std::int64_t>(pid), w.next("its name")};
}

std::map<std::string, Parser, std::less<>> const& parsers() {
  static std::map<std::string, Parser, std::less<>> const table{
      {"started", [](Words&, Instant) { return SupervisorStarted{}; }},
      {"stop_record", [](Words& w, Instant) { return StopRecordRead{w.text("blob")}; }},
      {"own_signal", [](Words& w, Instant) { return OwnSignal{w.next("the signal's name")}; }},
      {"deletion_seen", [](Words& w, Instant) { return DeletionSeen{w.duration("grace")}; }},
      {"engine_stop_hook", [](Words&, Instant) { return EngineStopHook{}; }},
      {"engine_replaced", [](Words& w, Instant) { return EngineReplaced{w.text("how")}; }},
      {"timer", [](Words& words,
                   Instant) { return TimerExpired{words.duration("late").value_or(Duration{0})}; }},
      {"shim", parse_shim},
      {"shim_disconnected",
       [](Words& w, Instant) {
         return ShimDisconnected{.watched = w.flag("watched"), .oom = w.flag("oom")};
       }},
      {"shim_gone", [](Words& w, Instant) { return ShimGone{.oom = w.flag("oom")}; }},
      {"signal", parse_signal},
      {"engine_started", [](Words&, Instant) { return EngineStarted{}; }},
      {"engine_exited",
       [](Words& w, Instant) {
         bool const ordered = w.flag("ordered");
         auto const alive = parse_alive(w);
         auto const at = w.instant("at");
         return EngineExited{.exit = parse_exit(w), .ordered = ordered, .alive = alive, .at = at};
       }},
      {"engine_tree", parse_tree},
      {"process_died", parse_process_died},
      {"engine_stopped", parse_stopped},
      {"drain", parse_drain},
      {"resume", [](Words&, Instant) { return ResumeRequested{}; }},
      {"cancel", parse_cancel},
      {"peer", parse_peer},
      {"peer_disconnected", [](Words& w, Instant) { return PeerDisconnected{w.next_peer()}; }},
      {"peer_gone", [](Words& w, Instant) { return PeerGone{w.next_peer()}; }},
      {"endpoint", parse_endpoint},
      {"endpoint_gone",
       [](Words& w, Instant) {
         auto const peer = w.next_peer();
         return EndpointUnregistered{.peer = peer, .endpoint = w.next("the endpoint")};
       }},
      {"begin", parse_begin},
      {"end", parse_end},
      {"progress",
       [](Words& w, Instant) {
         auto const peer = w.next_peer();
         return RequestProgressed{.peer = peer, .ids = rest_of(w)};
       }},
      {"confirm",
       [](Words& w, Instant) {
         auto const peer = w.next_peer();
         return CancelConfirmed{.peer = peer, .id = w.next("the id")};
       }},
      {"fatal", parse_fatal},
      {"cleaned_up", [](Words& w, Instant) { return PeerCleanedUp{w.next_peer()}; }},
      {"load", parse_load},
      {"limits",
       [](Words& w, Instant) { return AdmissionLimitsChanged{.limits = parse_admission(w)}; }},
      {"thresholds",
       [](Words& w, Instant) { return LoadThresholdsChanged{.thresholds = parse_load_limits(w)}; }},
      {"check", parse_check},
      {"health_limits", parse_health_limits},
      {"gauges", parse_gauges},
      {"token_sent",
       [](Words& w, Instant) { return TokenSent{w.next_number("the request's number")}; }},
      {"token", parse_token},
      {"registry", parse_registry},
      {"cleanup", parse_cleanup},
  };
  return table;
}

}  // namespace

Event parse_event(std::string_view line, Instant now) {
  Words words(line);
  std::string const verb = words.next("the verb");
  auto const found = parsers().find(verb);
  if (found == parsers().end()) {
    throw ScenarioError("cannot read the line: nobody knows the verb '" + verb + "'");
  }
  Event event = found->second(words, now);
  words.finish();
  return event;
}

}  // namespace lastcall::simulation
