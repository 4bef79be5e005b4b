// The state diagrams of docs/architecture.md are made from the tables of the core, so that they
// cannot be stale.
//
//   diagram --print-diagram     what belongs between the markers, one diagram after the other
//   diagram --check FILE        fails when FILE says something else
//   diagram --self-test         a diagram with one move less must be found out
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "core/own_end.hpp"
#include "core/phase_table.hpp"
#include "core/registrations.hpp"
#include "core/shim_link.hpp"
#include "tests/simulation/scenario.hpp"

namespace lastcall::simulation {
namespace {

using lifecycle::CellKind;

struct Diagram {
  std::string name;
  std::string text;
};

/// One line a pair of states, with all that leads from the one to the other. `name_of(state)` and
/// `event_of(event)` are their words; a move that gives no reason is named by its event.
template <typename Table, typename NameOf, typename EventOf>
std::string moves_of(Table const& table, NameOf const& name_of, EventOf const& event_of) {
  std::string text;
  for (std::size_t from = 0; from < table.size(); ++from) {
    for (std::size_t to = 0; to < table.size(); ++to) {
      std::string why;
      for (std::size_t event = 0; event < table[from].size(); ++event) {
        auto const& cell = table[from][event];
        if (cell.kind != CellKind::move || static_cast<std::size_t>(cell.to) != to || from == to) {
          continue;
        }
        std::string_view const reason = *cell.why != '\0' ? cell.why : event_of(event);
        why += (why.empty() ? "" : ", or ") + std::string(reason);
      }
      if (!why.empty()) {
        text += "  " + std::string(name_of(from)) + " --> " + std::string(name_of(to)) + " : " +
                why + "\n";
      }
    }
  }
  return text;
}

template <std::size_t N>
auto words(std::array<std::string_view, N> const& table) {
  return [table](std::size_t index) { return table[index]; };
}

std::string framed(std::string_view first, std::string const& moves, std::string_view last = {}) {
  std::string text = "```mermaid\nstateDiagram-v2\n  [*] --> " + std::string(first) + "\n" + moves;
  if (!last.empty()) {
    text += "  " + std::string(last) + " --> [*]\n";
  }
  return text + "```\n";
}

std::vector<Diagram> diagrams() {
  auto const phase = [](std::size_t index) { return name(static_cast<lifecycle::Phase>(index)); };
  auto const no_event = [](std::size_t) { return std::string_view(); };
  auto const shim = words<5>({"never", "connected", "away", "gone", "released"});
  auto const shim_event = words<4>({"hello", "disconnected", "lost", "stop ended"});
  auto const restart = words<7>(
      {"none", "announced", "deregistering", "accepting", "refusing", "stopping", "killing"});
  auto const restart_event = words<4>({"own signal", "registries settled", "due", "a stop begins"});
  auto const registry = words<5>({"absent", "registered", "deregistering", "confirmed", "failed"});
  auto const registry_event = words<4>({"register", "deregister", "confirmed", "gave up"});
  return {
      {"phases", framed("starting", moves_of(lifecycle::kPhaseTable, phase, no_event), "exited")},
      {"shim", framed("never", moves_of(lifecycle::kShimTable, shim, shim_event))},
      {"restart", framed("none", moves_of(lifecycle::kRestartTable, restart, restart_event))},
      {"registry", framed("absent", moves_of(lifecycle::kRegistryTable, registry, registry_event))},
  };
}

std::string marker(std::string const& name, char const* which) {
  return "<!-- " + name + ":" + which + " -->";
}

int check(std::string const& document) {
  for (Diagram const& diagram : diagrams()) {
    std::string const head = marker(diagram.name, "begin") + "\n";
    auto const begin = document.find(head);
    auto const end = document.find(marker(diagram.name, "end"));
    if (begin == std::string::npos || end == std::string::npos) {
      std::fprintf(stderr, "cannot find the markers %s:begin and %s:end\n", diagram.name.c_str(),
                   diagram.name.c_str());
      return 1;
    }
    auto const from = begin + head.size();
    if (document.substr(from, end - from) != diagram.text) {
      std::fprintf(stderr, "the diagram is stale; between the markers of %s belongs:\n%s",
                   diagram.name.c_str(), diagram.text.c_str());
      return 1;
    }
  }
  return 0;
}

std::string all() {
  std::string text;
  for (Diagram const& diagram : diagrams()) {
    text +=
        marker(diagram.name, "begin") + "\n" + diagram.text + marker(diagram.name, "end") + "\n\n";
  }
  return text;
}

/// A document that lacks one move of any diagram is stale.
int self_test() {
  std::string const good = "x\n" + all() + "y\n";
  bool found = check(good) == 0 && check("nothing") != 0;
  for (Diagram const& diagram : diagrams()) {
    std::string stale = good;
    auto const line = stale.find("  ", stale.find(" --> ", stale.find(diagram.text)) + 1);
    stale.erase(line, stale.find('\n', line) + 1 - line);
    found = found && check(stale) != 0;
  }
  return found ? 0 : 1;
}

}  // namespace
}  // namespace lastcall::simulation

int main(int argc, char** argv) {
  using namespace lastcall::simulation;
  std::string_view const mode = argc > 1 ? argv[1] : "--print-diagram";
  if (mode == "--self-test") {
    return self_test();
  }
  if (mode == "--check" && argc == 3) {
    return check(read_text_file(argv[2]));
  }
  std::fputs(all().c_str(), stdout);
  return mode == "--print-diagram" ? 0 : 2;
}
