#include "core/remembered.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse_number.hpp"
#include "base/percent.hpp"
#include "base/words.hpp"

namespace lastcall::lifecycle {
namespace {

constexpr std::string_view kHead = "lastcall1";
constexpr std::size_t kDetailMax = 160;

/// Words are separated by spaces.
std::string escape(std::string_view text) {
  return percent_encoded(text.substr(0, kDetailMax),
                         [](char c) { return c > ' ' && c < '\x7f' && c != '%' && c != '='; });
}

/// The words of a blob by their keys. There are some thirty, so a search from word to word is
/// faster than a tree; of two words with the same key the last one counts.
class Words {
 public:
  void add(std::string_view key, std::string_view value) { words_.emplace_back(key, value); }
  std::optional<std::string_view> find(std::string_view key) const {
    auto const found = std::find_if(words_.rbegin(), words_.rend(),
                                    [key](auto const& word) { return word.first == key; });
    return found == words_.rend() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> words_;
};

Words words_of(std::string_view blob) {
  Words words;
  for (std::string_view const word : split(blob, " ")) {
    if (std::size_t const eq = word.find('='); eq != std::string_view::npos) {
      words.add(word.substr(0, eq), word.substr(eq + 1));
    }
  }
  return words;
}

std::optional<std::int64_t> number(Words const& words, std::string_view key) {
  auto const found = words.find(key);
  return found ? parse_number<std::int64_t>(*found) : std::nullopt;
}

std::uint64_t count(Words const& words, std::string_view key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number(words, key).value_or(0)));
}

std::optional<std::string> text(Words const& words, std::string_view key) {
  auto const found = words.find(key);
  return found ? std::optional(percent_decoded(*found)) : std::nullopt;
}

template <typename Enum>
std::optional<Enum> enumerator(Words const& words, std::string_view key) {
  auto const found = words.find(key);
  return found ? parse_word<Enum>(*found) : std::nullopt;
}

PhaseRecord decode_record(Words const& words, std::string_view key) {
  auto const found = words.find(key);
  PhaseRecord record;
  if (!found) {
    return record;
  }
  std::string_view const text = *found;
  int outcome = 0;
  std::int64_t ms = 0;
  auto const first = std::from_chars(text.data(), text.data() + text.size(), outcome);
  bool const is_known =
      first.ec == std::errc{} && outcome >= 0 && outcome <= static_cast<int>(PhaseOutcome::failed);
  if (is_known && first.ptr != text.data() + text.size()) {
    std::from_chars(first.ptr + 1, text.data() + text.size(), ms);
    record = {static_cast<PhaseOutcome>(outcome), Duration{ms}};
  }
  return record;
}

std::optional<ShutdownCoordinator::Stop> decode_stop(Words const& words) {
  auto const kind = enumerator<CauseKind>(words, "cause");
  auto const at = number(words, "cause_at");
  auto const deadline = number(words, "deadline");
  if (!kind || !at || !deadline) {
    return std::nullopt;
  }
  return ShutdownCoordinator::Stop{
      .cause = {*kind, text(words, "detail").value_or("")},
      .mode = number(words, "fatal") == 1 ? StopMode::fatal : StopMode::graceful,
      .cause_at = instant_from_ms(*at),
      .deadline = instant_from_ms(*deadline),
      .in_starting = number(words, "in_starting") == 1};
}

/// Writes `key=value` words, one after the other.
class Blob {
 public:
  void put(std::string_view key, std::string_view value) {
    ((text_ += ' ') += key) += '=';
    text_ += value;
  }
  void put(std::string_view key, std::int64_t value) { put(key, std::to_string(value)); }
  void put(std::string_view key, bool value) { put(key, std::string_view(value ? "1" : "0")); }
  void put(std::string_view key, Instant at) { put(key, to_ms(at)); }
  void put(std::string_view key, PhaseRecord const& record) {
    put(key, std::to_string(static_cast<int>(record.outcome)) + "," +
                 std::to_string(to_ms(record.elapsed)));
  }
  template <typename T>
  void put(std::string_view key, std::optional<T> const& value) {
    if (value) {
      put(key, *value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{kHead};
};

void put_hook(Blob& blob, HookBound::Hook const& hook) {
  blob.put("hook_at", hook.called_at);
  blob.put("hook_deletion", hook.deletion);
  blob.put("hook_drain", hook.began_drain);
  if (hook.grace) {
    blob.put("hook_grace", to_ms(*hook.grace));
  }
}

void put_stop(Blob& blob, ShutdownCoordinator::Stop const& stop, Remembered const& remembered) {
  blob.put("cause", name(stop.cause.kind));
  blob.put("cause_at", stop.cause_at);
  blob.put("deadline", stop.deadline);
  blob.put("fatal", stop.mode == StopMode::fatal);
  blob.put("in_starting", stop.in_starting);
  blob.put("step", std::int64_t{remembered.cleanup_step});
  blob.put("died_with_work", remembered.died_with_work);
  blob.put("aborted_with_work", remembered.aborted_with_work);
  blob.put("killed", remembered.engine_killed);
  blob.put("detail", std::string_view(escape(stop.cause.detail)));
}

/// Most blobs are written while nothing is in flight.
void put_requests(Blob& blob, Remembered const& remembered) {
  if (remembered.in_flight > 0) {
    blob.put("in_flight", static_cast<std::int64_t>(remembered.in_flight));
  }
  if (remembered.relaying > 0) {
    blob.put("relaying", static_cast<std::int64_t>(remembered.relaying));
  }
  if (remembered.unseen) {
    blob.put("unseen", static_cast<std::int64_t>(*remembered.unseen));
  }
}

}  // namespace

std::string encode(Remembered const& remembered) {
  Blob blob;
  ShutdownCoordinator::Progress const& p = remembered.progress;
  blob.put("phase", name(p.phase));
  blob.put("began", p.phase_began);
  blob.put("peers", std::int64_t{remembered.sdk_peers});
  blob.put("ready", remembered.ready);
  if (remembered.silence != Silence::none) {
    blob.put("silence", name(remembered.silence));
  }
  if (remembered.relayed) {
    blob.put("relayed", true);
  }
  put_requests(blob, remembered);
  blob.put("own_container", remembered.own_container);
  blob.put("boot", std::string_view(escape(remembered.boot)));
  blob.put("limit", p.drain_limit);
  if (p.hook) {
    put_hook(blob, *p.hook);
  }
  if (remembered.condemned) {
    blob.put("condemned", std::string_view(escape(*remembered.condemned)));
  }
  if (p.stop) {
    put_stop(blob, *p.stop, remembered);
  }
  blob.put("deregistering", p.deregistering);
  blob.put("draining", p.draining);
  blob.put("outcomes", std::string_view(joined(remembered.outcomes, ",", [](std::uint64_t count) {
             return std::to_string(count);
           })));
  if (remembered.in_flight_at_end) {
    blob.put("at_end", static_cast<std::int64_t>(*remembered.in_flight_at_end));
  }
  return blob.take();
}

std::optional<Remembered> decode_remembered(std::string_view blob) {
  if (blob.substr(0, kHead.size()) != kHead) {
    return std::nullopt;
  }
  Words const words = words_of(blob);
  auto const phase = enumerator<Phase>(words, "phase");
  if (!phase) {
    return std::nullopt;
  }
  Remembered r;
  r.progress.phase = *phase;
  r.progress.phase_began = instant_from_ms(number(words, "began").value_or(0));
  r.progress.stop = decode_stop(words);
  if (auto const limit = number(words, "limit")) {
    r.progress.drain_limit = instant_from_ms(*limit);
  }
  if (auto const at = number(words, "hook_at")) {
    auto const grace = number(words, "hook_grace");
    r.progress.hook = {.called_at = instant_from_ms(*at),
                       .deletion = number(words, "hook_deletion") == 1,
                       .began_drain = number(words, "hook_drain") == 1,
                       .grace = grace ? std::optional(Duration{*grace}) : std::nullopt};
  }
  r.condemned = text(words, "condemned");
  r.progress.deregistering = decode_record(words, "deregistering");
  r.progress.draining = decode_record(words, "draining");
  bool const needs_stop = *phase == Phase::cleaning_up || *phase == Phase::exited;
  if (needs_stop && !r.progress.stop) {
    return std::nullopt;
  }
  r.sdk_peers = static_cast<std::uint32_t>(number(words, "peers").value_or(0));
  r.cleanup_step = static_cast<std::uint32_t>(number(words, "step").value_or(0));
  r.died_with_work = number(words, "died_with_work") == 1;
  r.aborted_with_work = number(words, "aborted_with_work") == 1;
  r.engine_killed = number(words, "killed") == 1;
  r.ready = number(words, "ready") == 1;
  r.silence = enumerator<Silence>(words, "silence").value_or(Silence::none);
  r.relayed = number(words, "relayed") == 1;
  r.in_flight = count(words, "in_flight");
  r.relaying = count(words, "relaying");
  if (words.find("unseen")) {
    r.unseen = count(words, "unseen");
  }
  r.own_container = number(words, "own_container") == 1;
  r.boot = text(words, "boot").value_or("");
  if (auto const found = words.find("outcomes")) {
    std::string_view rest = *found;
    for (std::uint64_t& count : r.outcomes) {
      count = parse_number<std::uint64_t>(take_part(rest, ',')).value_or(0);
    }
  }
  if (auto const left = number(words, "at_end"); left && *left > 0) {
    r.in_flight_at_end = static_cast<std::uint64_t>(*left);
  }
  return r;
}

}  // namespace lastcall::lifecycle
