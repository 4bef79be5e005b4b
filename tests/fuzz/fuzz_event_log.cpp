// Logs of the core: settings in the first line, then events with the time since the last. Checked:
//  1. what is read can be written, and reads the same then;
//  2. no sequence of events that a caller may feed breaks an invariant of the core;
//  3. a log of what it did is replayed without a difference, and one that was changed is not.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/runtime/record/event_log.hpp"
#include "supervisor/runtime/record/replay.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using namespace lastcall::runtime;
using fuzz::require;

/// More steps only make a run slow, because each of them can reach any of the earlier states.
constexpr int kMostSteps = 64;

std::string_view next_line(std::string_view& rest) {
  std::size_t const end = std::min(rest.find('\n'), rest.size());
  std::string_view const line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

std::string record(std::string_view kind, int number, std::string const& fields) {
  return R"({"ts":"","level":"DEBUG","msg":")" + std::string(kind) + R"(","n":)" +
         std::to_string(number) + "," + fields + "}";
}

lifecycle::Settings settings_of(std::string_view line) {
  event_log::DecodedSettings decoded = event_log::decode_settings(line);
  if (!decoded.settings) {
    require(!decoded.problem.empty());
    return {};
  }
  std::string const text = event_log::encode(*decoded.settings);
  event_log::DecodedSettings const again = event_log::decode_settings(text);
  require(again.settings && event_log::encode(*again.settings) == text);
  return *std::move(decoded.settings);
}

/// The milliseconds before an event's text.
lifecycle::Duration pause_of(std::string_view& line) {
  std::int64_t pause = 0;
  while (!line.empty() && line.front() >= '0' && line.front() <= '9') {
    pause = (pause * 10 + line.front() - '0') % 1'000'000;
    line.remove_prefix(1);
  }
  return lifecycle::Duration{pause};
}

void run(std::string_view bytes) {
  lifecycle::Settings const settings = settings_of(next_line(bytes));
  lifecycle::Lifecycle core(settings);
  Replay replay;
  require(replay.take(record("core starts", 0, R"("settings":)" + event_log::encode(settings))));
  lifecycle::Instant now{};
  for (int number = 1; !bytes.empty() && number <= kMostSteps;) {
    std::string_view line = next_line(bytes);
    now += pause_of(line);
    event_log::Decoded const decoded = event_log::decode_event(line);
    if (!decoded.event) {
      require(!decoded.problem.empty());
      continue;
    }
    std::string const event = event_log::encode(*decoded.event);
    event_log::Decoded const again = event_log::decode_event(event);
    require(again.event && event_log::encode(*again.event) == event);
    if (!misfit(core, *decoded.event).empty()) {
      continue;
    }
    std::string const actions = event_log::encode(core.step(now, *decoded.event));
    require(replay.take(record("step", number,
                               R"("at_ms":)" + std::to_string(lifecycle::to_ms(now)) +
                                   R"(,"event":)" + event + R"(,"actions":)" + actions)));
    ++number;
  }
  require(!replay.take(record("step", 1'000, "")) && replay.mismatch());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 10'000, .besides = 2'000'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  run(bytes);
  Replay raw;
  std::string_view rest = bytes;
  while (!rest.empty() && raw.take(next_line(rest))) {
  }
  require(!raw.mismatch() || (raw.mismatch()->line > 0 && !raw.mismatch()->problem.empty()));
  return 0;
}
