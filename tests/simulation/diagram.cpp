// The state diagram of docs/architecture.md is made from kLegalMoves, so that it cannot be stale.
//
//   diagram --print-diagram     what belongs between the markers
//   diagram --check FILE        fails when FILE says something else
//   diagram --self-test         a diagram with one move less must be found out
#include <cstdio>
#include <string>
#include <string_view>

#include "core/shutdown_coordinator.hpp"
#include "tests/simulation/scenario.hpp"

namespace lastcall::simulation {
namespace {

constexpr std::string_view kBegin = "<!-- phases:begin -->\n";
constexpr std::string_view kEnd = "<!-- phases:end -->";

std::string diagram() {
  std::string text = "```mermaid\nstateDiagram-v2\n  [*] --> starting\n";
  for (lifecycle::PhaseMove const& move : lifecycle::kLegalMoves) {
    text += "  " + std::string(name(move.from)) + " --> " + std::string(name(move.to)) + " : " +
            move.why + "\n";
  }
  return text + "  exited --> [*]\n```\n";
}

int check(std::string const& document) {
  auto const begin = document.find(kBegin);
  auto const end = document.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) {
    std::fprintf(stderr, "cannot find the markers phases:begin and phases:end\n");
    return 1;
  }
  auto const from = begin + kBegin.size();
  if (document.substr(from, end - from) != diagram()) {
    std::fprintf(stderr, "the diagram is stale; between the markers belongs:\n%s",
                 diagram().c_str());
    return 1;
  }
  return 0;
}

int self_test() {
  std::string const good = "x\n" + std::string(kBegin) + diagram() + std::string(kEnd) + "\ny\n";
  std::string stale = good;
  auto const line = stale.find("  serving --> cleaning_up");
  stale.erase(line, stale.find('\n', line) + 1 - line);
  return check(good) == 0 && check(stale) != 0 && check("nothing") != 0 ? 0 : 1;
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
  std::fputs(diagram().c_str(), stdout);
  return mode == "--print-diagram" ? 0 : 2;
}
