#include "supervisor/cli/problems.hpp"

#include <ostream>

namespace lastcall::cli {
namespace {

std::string count(std::size_t number, std::string const& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

void print_marked(config::Problems const& problems, char const* mark, std::ostream& err) {
  for (config::Problem problem : problems) {
    problem.key.insert(0, std::string(mark) + ": ");
    err << config::to_text(problem) << '\n';
  }
}

}  // namespace

std::string name_of(config::Loaded const& loaded) {
  return loaded.source.empty() ? "the defaults" : loaded.source;
}

std::string summary(config::Loaded const& loaded) {
  std::string text = name_of(loaded);
  text += loaded.errors.empty() ? ": ok" : ": " + count(loaded.errors.size(), "error");
  if (!loaded.warnings.empty()) {
    text += ", " + count(loaded.warnings.size(), "warning");
  }
  return text;
}

void print_problems(config::Loaded const& loaded, std::ostream& err) {
  for (config::Problem const& problem : loaded.errors) {
    err << config::to_text(problem) << '\n';
  }
  print_marked(loaded.warnings, "warning", err);
  print_marked(loaded.notes, "note", err);
}

bool load_or_complain(config::LoadOptions const& options, config::Environment const& environment,
                      config::Loaded& loaded, std::ostream& err, Warnings warnings) {
  loaded = config::load(options, environment);
  bool const is_usable = loaded.errors.empty();
  if (!is_usable || warnings == Warnings::shown) {
    print_problems(loaded, err);
  }
  if (!is_usable) {
    err << summary(loaded) << '\n';
  }
  return is_usable;
}

}  // namespace lastcall::cli
