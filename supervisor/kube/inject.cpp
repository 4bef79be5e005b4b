#include "supervisor/kube/inject.hpp"

#include <cerrno>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/error_text.hpp"
#include "base/read_to_end.hpp"
#include "inject/diff.hpp"
#include "inject/function_config.hpp"
#include "inject/node.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/kube/sidecar_config.hpp"

namespace lastcall::kube {
namespace {

constexpr char const* kStandardInput = "<standard input>";

bool read_all(std::string const& name, std::string& text, std::ostream& err) {
  std::error_code error;
  if (name != "-" && std::filesystem::is_directory(name, error)) {
    err << "lastcall inject: cannot read " << name << ": a directory, expected manifests\n";
    return false;
  }
  Descriptor const file(name == "-" ? -1 : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (name != "-" && !file) {
    err << "lastcall inject: cannot open " << name << ": " << error_text(errno) << '\n';
    return false;
  }
  int const input = name == "-" ? STDIN_FILENO : file.get();
  // An input without an end is read beyond the limit, which the parser then reports.
  if (int const failed = read_to_end(input, text, inject::kMaximumSize); failed != 0) {
    err << "lastcall inject: cannot read " << (name == "-" ? kStandardInput : name) << ": "
        << error_text(failed) << '\n';
    return false;
  }
  return true;
}

bool read_inputs(std::vector<std::string> const& files, std::vector<inject::Input>& inputs,
                 std::ostream& err) {
  for (std::string const& name : files.empty() ? std::vector<std::string>{"-"} : files) {
    inputs.push_back({name == "-" ? kStandardInput : name, ""});
    if (!read_all(name, inputs.back().text, err)) {
      return false;
    }
  }
  return true;
}

/// Prints several files as one stream, in which each file begins a document.
void print_texts(std::vector<std::string> const& texts, std::ostream& out) {
  bool needs_line_end = false;
  bool is_first = true;
  for (std::string const& text : texts) {
    if (text.empty()) {
      continue;
    }
    out << (needs_line_end ? "\n" : "") << (is_first || text.starts_with("---") ? "" : "---\n");
    out << text;
    needs_line_end = !text.ends_with('\n');
    is_first = false;
  }
}

void print_labelled(config::Problems const& problems, char const* kind, std::ostream& err) {
  for (config::Problem problem : problems) {
    problem.text = kind + problem.text;
    err << to_text(problem) << '\n';
  }
}

void print_summary(bool uninject, std::vector<std::string> const& changed, std::ostream& err) {
  err << "lastcall inject: ";
  if (changed.empty()) {
    err << (uninject ? "nothing to take out\n" : "nothing to inject\n");
    return;
  }
  err << (uninject ? "taken out of" : "injected into");
  for (std::string const& label : changed) {
    err << ' ' << label;
  }
  err << '\n';
}

/// Completes the options that refer to files or need parsing. False after a complaint.
bool complete(InjectOptions const& options, inject::Options& complete, std::ostream& err) {
  complete = options.inject;
  for (std::string const& text : options.templates) {
    std::optional<inject::TemplatePath> path = inject::parse_template(text);
    if (!path) {
      err << "--template " << text << ": expected KIND=PATH, such as ServingRuntime=spec\n";
      return false;
    }
    complete.templates.push_back(std::move(*path));
  }
  return !options.config || read_all(*options.config, complete.config, err);
}

}  // namespace

int run_inject(InjectOptions const& options, std::ostream& out, std::ostream& err) {
  std::vector<inject::Input> inputs;
  inject::Options inject_options;
  if (!complete(options, inject_options, err) || !read_inputs(options.files, inputs, err)) {
    return cli::kExitUsage;
  }
  if (inputs.size() == 1) {
    config::Problems const problems = inject::read_function_config(inputs[0], inject_options);
    if (!problems.empty()) {
      print_labelled(problems, "", err);
      return cli::kExitUsage;
    }
  }
  inject_options.check = [&](inject::SidecarConfig const& sidecar) {
    return problems_of(sidecar, options.config.value_or("lastcall.dev/config"));
  };
  inject::Outcome outcome = options.uninject ? inject::uninject(inputs, inject_options)
                                             : inject::inject(inputs, inject_options);
  sort_by_place(outcome.refusals);
  if (!outcome.refusals.empty()) {
    print_labelled(outcome.refusals, "", err);
    return cli::kExitUsage;
  }
  print_labelled(outcome.notes, "note: ", err);
  print_summary(options.uninject, outcome.changed, err);
  if (!options.diff) {
    print_texts(outcome.texts, out);
    return cli::kExitSuccess;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out << inject::unified_diff(inputs[i].text, outcome.texts[i], inputs[i].name);
  }
  return cli::kExitSuccess;
}

}  // namespace lastcall::kube
