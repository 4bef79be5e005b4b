// Events and settings as lines of the scenario language, and back.
#include "tests/simulation/event_text.hpp"

#include <array>

#include "tests/simulation/shape_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

struct EventReader {
  std::string_view verb;
  Event (*read)(Words& words, Instant now);
};

template <typename... E>
constexpr std::array<EventReader, sizeof...(E)> readers_of(std::variant<E...> const* /*events*/) {
  return {EventReader{Shape<E>::kLine.substr(0, Shape<E>::kLine.find(' ')),
                      [](Words& words, Instant now) { return Event(value_of<E>(words, now)); }}...};
}

constexpr auto kReaders = readers_of(static_cast<Event const*>(nullptr));

}  // namespace

std::string text_of(Event const& event, Instant now) {
  return std::visit([now](auto const& e) { return line_of(e, now); }, event);
}

Event parse_event(std::string_view line, Instant now) {
  std::string_view const verb = line.substr(0, line.find(' '));
  for (EventReader const& reader : kReaders) {
    if (reader.verb == verb) {
      Words words(line);
      return reader.read(words, now);
    }
  }
  throw ScenarioError("cannot read the line: nobody knows the verb '" + std::string(verb) + "'");
}

std::string text_of(Settings const& settings) {
  return line_of(settings, kEpoch);
}

Settings parse_settings(std::string_view line) {
  Words words(line);
  return value_of<Settings>(words, kEpoch);
}

}  // namespace lastcall::simulation
