#include "core/remembered.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace lastcall::lifecycle {
namespace {

constexpr std::string_view kHead = "lastcall1";
constexpr std::size_t kDetailMax = 160;

/// Words are separated by spaces: what is not a plain character is written as %XX.
std::string escape(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char const c : text.substr(0, kDetailMax)) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '%' && c != '=') {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return out;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ec == std::errc{}) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

using Words = std::map<std::string_view, std::string_view>;

Words split(std::string_view blob) {
  Words words;
  while (!blob.empty()) {
    std::size_t const end = blob.find(' ');
    std::string_view const word = blob.substr(0, end);
    blob = end == std::string_view::npos ? std::string_view() : blob.substr(end + 1);
    if (std::size_t const eq = word.find('='); eq != std::string_view::npos) {
      words[word.substr(0, eq)] = word.substr(eq + 1);
    }
  }
  return words;
}

std::optional<std::int64_t> number(Words const& words, std::string_view key) {
  auto const found = words.find(key);
  if (found == words.end()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  char const* const end = found->second.data() + found->second.size();
  auto const result = std::from_chars(found->second.data(), end, value);
  return result.ec == std::errc{} && result.ptr == end ? std::optional(value) : std::nullopt;
}

PhaseRecord decode_record(Words const& words, std::string_view key) {
  auto const found = words.find(key);
  PhaseRecord record;
  if (found == words.end()) {
    return record;
  }
  std::string_view const text = found->second;
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
  auto const cause = words.find("cause");
  auto const at = number(words, "cause_at");
  auto const deadline = number(words, "deadline");
  if (cause == words.end() || !at || !deadline) {
    return std::nullopt;
  }
  auto const kind = parse_cause(cause->second);
  if (!kind) {
    return std::nullopt;
  }
  auto const detail = words.find("detail");
  return ShutdownCoordinator::Stop{
      .cause = {*kind, detail == words.end() ? std::string() : unescape(detail->second)},
      .mode = number(words, "fatal") == 1 ? StopMode::fatal : StopMode::graceful,
      .cause_at = instant_from_ms(*at),
      .deadline = instant_from_ms(*deadline),
      .in_starting = number(words, "in_starting") == 1};
}

}  // namespace

std::string encode(Remembered const& remembered) {
  std::string blob(kHead);
  auto const put = [&blob](std::string_view key, std::string const& value) {
    ((blob += ' ') += key) += '=';
    blob += value;
  };
  auto const put_number = [&put](std::string_view key, std::int64_t value) {
    put(key, std::to_string(value));
  };
  ShutdownCoordinator::Progress const& p = remembered.progress;
  put("phase", std::string(name(p.phase)));
  put_number("began", to_ms(p.phase_began));
  put_number("peers", remembered.sdk_peers);
  put_number("ready", remembered.ready ? 1 : 0);
  if (remembered.silence != Silence::none) {
    put("silence", std::string(name(remembered.silence)));
  }
  if (remembered.relayed) {
    put_number("relayed", 1);
  }
  put_number("own_container", remembered.own_container ? 1 : 0);
  put("boot", escape(remembered.boot));
  if (p.drain_limit) {
    put_number("limit", to_ms(*p.drain_limit));
  }
  if (p.hook) {
    put_number("hook_at", to_ms(p.hook->called_at));
    put_number("hook_deletion", p.hook->deletion ? 1 : 0);
    put_number("hook_drain", p.hook->began_drain ? 1 : 0);
    if (p.hook->grace) {
      put_number("hook_grace", p.hook->grace->count());
    }
  }
  if (remembered.condemned) {
    put("condemned", escape(*remembered.condemned));
  }
  if (p.stop) {
    put("cause", std::string(name(p.stop->cause.kind)));
    put_number("cause_at", to_ms(p.stop->cause_at));
    put_number("deadline", to_ms(p.stop->deadline));
    put_number("fatal", p.stop->mode == StopMode::fatal ? 1 : 0);
    put_number("in_starting", p.stop->in_starting ? 1 : 0);
    put_number("step", remembered.cleanup_step);
    put_number("died_with_work", remembered.died_with_work ? 1 : 0);
    put_number("aborted_with_work", remembered.aborted_with_work ? 1 : 0);
    put_number("killed", remembered.engine_killed ? 1 : 0);
    put("detail", escape(p.stop->cause.detail));
  }
  auto const put_record = [&put](std::string_view key, PhaseRecord const& record) {
    put(key, std::to_string(static_cast<int>(record.outcome)) + "," +
                 std::to_string(to_ms(record.elapsed)));
  };
  put_record("deregistering", p.deregistering);
  put_record("draining", p.draining);
  std::string counts;
  for (std::uint64_t const count : remembered.outcomes) {
    (counts += counts.empty() ? "" : ",") += std::to_string(count);
  }
  put("outcomes", counts);
  if (remembered.in_flight_at_end) {
    put_number("at_end", static_cast<std::int64_t>(*remembered.in_flight_at_end));
  }
  return blob;
}

std::optional<Remembered> decode_remembered(std::string_view blob) {
  if (blob.substr(0, kHead.size()) != kHead) {
    return std::nullopt;
  }
  Words const words = split(blob);
  auto const phase_word = words.find("phase");
  auto const phase = phase_word == words.end() ? std::nullopt : parse_phase(phase_word->second);
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
  if (auto const condemned = words.find("condemned"); condemned != words.end()) {
    r.condemned = unescape(condemned->second);
  }
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
  if (auto const silence = words.find("silence"); silence != words.end()) {
    r.silence = vocabulary::find_word<Silence>(kSilences, silence->second).value_or(Silence::none);
  }
  r.relayed = number(words, "relayed") == 1;
  r.own_container = number(words, "own_container") == 1;
  if (auto const boot = words.find("boot"); boot != words.end()) {
    r.boot = unescape(boot->second);
  }
  if (auto const found = words.find("outcomes"); found != words.end()) {
    std::string_view rest = found->second;
    for (std::uint64_t& count : r.outcomes) {
      std::size_t const comma = rest.find(',');
      std::from_chars(rest.data(), rest.data() + std::min(comma, rest.size()), count);
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  if (auto const left = number(words, "at_end"); left && *left > 0) {
    r.in_flight_at_end = static_cast<std::uint64_t>(*left);
  }
  return r;
}

}  // namespace lastcall::lifecycle
