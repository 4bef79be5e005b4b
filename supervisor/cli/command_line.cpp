#include "supervisor/cli/command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error_text.hpp"
#include "config/suggest.hpp"
#include "supervisor/cli/beside.hpp"

namespace lastcall::cli {
namespace {

/// The message about an unknown command; CLI11 would only report that a subcommand is missing.
std::string unknown_command(std::span<Command const> commands, std::string_view word) {
  std::vector<std::string_view> names;
  for (Command const& command : commands) {
    names.emplace_back(command.name);
  }
  std::optional<std::string_view> const near = config::nearest(word, names);
  return "unknown command '" + std::string(word) + "'" +
         (near ? ", did you mean '" + std::string(*near) + "'?" : std::string());
}

/// CLI11 puts an empty line before each further group of options, even if that group is hidden.
class Help final : public CLI::Formatter {
 public:
  std::string make_help(CLI::App const* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    if (text.ends_with("\n\n\n")) {
      text.pop_back();
    }
    return text;
  }
};

/// CLI11 splits a word `[a,b]` into two where an option takes a list. This mark keeps it one word;
/// each option removes the mark again.
constexpr char kOneWord = '\x01';

std::string one_word(std::string const& word) {
  bool const looks_like_list = word.size() > 1 && word.front() == '[' && word.back() == ']';
  return looks_like_list || word.starts_with(kOneWord) ? kOneWord + word : word;
}

std::string as_typed(std::string const& word) {
  return word.starts_with(kOneWord) ? word.substr(1) : word;
}

/// The command line as the user typed it, in two parts.
struct Words {
  std::vector<std::string> ours;
  std::vector<std::string> after_dashes;
};

/// The command that the first word names; null if there is none.
Command const* command_of(Program const& program, int argc, char const* const* argv) {
  auto const known =
      std::find_if(program.commands.begin(), program.commands.end(), [&](Command const& command) {
        return argc > 1 && std::string_view(argv[1]) == command.name;
      });
  return known == program.commands.end() ? nullptr : &*known;
}

Words words_of(Command const* known, int argc, char const* const* argv) {
  Words words{.ours = {argv, argv + argc}, .after_dashes = {}};
  if (known != nullptr && known->passes_on_after_dashes) {
    auto const dashes = std::find(words.ours.begin(), words.ours.end(), "--");
    if (dashes != words.ours.end()) {
      words.after_dashes.assign(dashes + 1, words.ours.end());
      words.ours.erase(dashes, words.ours.end());
    }
  }
  return words;
}

void parse(CLI::App& app, std::vector<std::string> const& words) {
  std::vector<std::string> reversed;  // CLI11 expects this order, without the program's name
  for (std::size_t i = words.size(); i > 1; --i) {
    reversed.push_back(one_word(words[i - 1]));
  }
  app.parse(std::move(reversed));
}

/// Suggests an existing option that is similar to an unknown one, if there is one.
std::string near_option(CLI::App const& app, std::string const& word) {
  std::vector<CLI::App const*> const chosen = app.get_subcommands(
      [&app](CLI::App const* command) { return app.got_subcommand(command->get_name()); });
  std::string_view const typed = std::string_view(word).substr(0, word.find('='));
  std::vector<std::string> names;
  bool is_known = false;
  for (CLI::Option const* option : (chosen.empty() ? &app : chosen.front())->get_options()) {
    for (std::string const& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    is_known = is_known || option->check_name(std::string(typed));
  }
  if (is_known && typed.starts_with('-')) {
    return ", because it comes before the command and belongs after it";
  }
  auto const near = config::nearest(typed, {names.begin(), names.end()});
  return near && typed.starts_with("--") ? ", did you mean '" + std::string(*near) + "'?" : "";
}

/// CLI11's message with the words as the user typed them, and in their order, which CLI11 reverses.
std::string message_of(CLI::App const& app, CLI::ParseError const& error) {
  std::string text = error.what();
  bool const lacks_words = dynamic_cast<CLI::RequiredError const*>(&error) != nullptr;
  std::vector<std::string> const extra = app.remaining(true);
  // A mistyped option would otherwise be reported as the word that is missing because of it.
  if (dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr || (lacks_words && !extra.empty())) {
    text = "not expected:";
    for (std::string const& word : extra) {
      text += " " + word;
    }
    text += extra.empty() ? "" : near_option(app, extra.front());
  }
  std::erase(text, kOneWord);
  return text;
}

/// Explains what is wrong with a command line that could not be parsed.
std::string explain(Program const& program, CLI::App const& app, CLI::ParseError const& error,
                    std::string_view command, std::string_view first) {
  if (command.empty() && first.starts_with('-')) {
    return "unknown option '" + std::string(first) + "'";
  }
  if (command.empty() && !first.empty()) {
    return unknown_command(program.commands, first);
  }
  bool const may_lack_dashes =
      command == "run" && dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr;
  return message_of(app, error) +
         std::string(may_lack_dashes ? " (the engine's command comes after `--`)" : "");
}

std::vector<std::string> choices_of(std::string const& type_name) {
  std::vector<std::string> choices;
  if (type_name.find('|') == std::string::npos) {
    return choices;
  }
  for (std::size_t at = 0; at <= type_name.size();) {
    std::size_t const end = std::min(type_name.find('|', at), type_name.size());
    choices.push_back(type_name.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

TypedOption typed(CLI::Option const& option) {
  TypedOption typed{
      .names = {},
      .summary = option.get_description(),
      .choices = choices_of(option.get_type_name()),
      .takes_value = option.get_items_expected_max() > 0,
      .is_file = option.get_type_name() == "FILE" || option.get_type_name() == "PATH"};
  for (std::string const& name : option.get_lnames()) {
    typed.names.push_back("--" + name);
  }
  for (std::string const& name : option.get_snames()) {
    typed.names.push_back("-" + name);
  }
  return typed;
}

std::vector<TypedOption> options_of(CLI::App const& app) {
  std::vector<TypedOption> options;
  for (CLI::Option const* option : app.get_options()) {
    if (!option->get_group().empty()) {  // else it is hidden
      options.push_back(typed(*option));
    }
  }
  return options;
}

/// Adds the commands of other programs, which list their commands themselves.
void add_elsewhere(Program const& program, std::string const& own_path, CommandTree& tree) {
  std::vector<std::string> asked;
  for (Command const& command : program.commands) {
    if (command.program == nullptr || std::count(asked.begin(), asked.end(), command.program) > 0) {
      continue;
    }
    asked.emplace_back(command.program);
    for (TypedCommand& found : commands_of(own_path, command.program)) {
      for (TypedCommand& listed : tree.commands) {
        if (listed.name == found.name) {
          listed.options = std::move(found.options);
        }
      }
    }
  }
}

/// Gives a subcommand its options, and notes in `run` what to run when it was chosen.
void set_up(Command const& command, CLI::App& subcommand, Run& run) {
  Run prepared = command.setup(subcommand);
  for (CLI::Option* const option : subcommand.get_options()) {
    if (option->get_items_expected_max() > 0) {
      option->transform(as_typed);
    }
  }
  subcommand.callback([&run, prepared = std::move(prepared)] { run = prepared; });
}

CommandTree tree_of(Program const& program, CLI::App const& app, std::string const& own_path) {
  CommandTree tree{.options = options_of(app), .commands = {}};
  for (CLI::App const* command : app.get_subcommands([](CLI::App const*) { return true; })) {
    if (!command->get_group().empty()) {  // else it is hidden
      tree.commands.push_back(
          {command->get_name(), command->get_description(), options_of(*command)});
    }
  }
  add_elsewhere(program, own_path, tree);
  return tree;
}

int parse_and_run(Program const& program, int argc, char const* const* argv, std::ostream& out,
                  std::ostream& err, Launch const& launch) {
  Command const* const known = command_of(program, argc, argv);
  if (known != nullptr && known->program != nullptr) {
    std::vector<std::string> typed{argv, argv + argc};
    typed.front() = program.name;
    return become(launch.path, known->program, std::move(typed), program.name + " " + known->name,
                  err);
  }
  CLI::App app{program.description, program.name};
  app.formatter(std::make_shared<Help>());
  app.require_subcommand(1);
  app.set_version_flag("--version", program.name + " " + program.version);
  Words words = words_of(known, argc, argv);
  Run run;
  std::vector<std::pair<Command const*, CLI::App*>> bare;
  for (Command const& command : program.commands) {
    CLI::App& subcommand = *app.add_subcommand(command.name, command.summary);
    if (*command.summary == '\0') {
      subcommand.group("");  // hides it
    }
    if (command.setup == nullptr) {
      continue;
    }
    // The options of all commands take longer to add than a short command runs, and those of a
    // command that no word names are not looked at.
    if (std::find(words.ours.begin(), words.ours.end(), command.name) == words.ours.end()) {
      bare.emplace_back(&command, &subcommand);
    } else {
      set_up(command, subcommand, run);
    }
  }
  try {
    parse(app, words.ours);
  } catch (CLI::Success const& asked) {  // --help and --version
    return app.exit(asked, out, err);
  } catch (CLI::ParseError const& error) {
    std::vector<CLI::App*> const chosen = app.get_subcommands();
    std::string const name =
        program.name + (chosen.empty() ? "" : " " + chosen.front()->get_name());
    std::string const what =
        explain(program, app, error, chosen.empty() ? "" : chosen.front()->get_name(),
                argc > 1 ? argv[1] : "");
    err << name << ": " << what << "; see '" << name << " --help'\n";
    return kExitUsage;
  }
  auto const tree = [&] {
    Run unused;
    for (auto const& [command, subcommand] : std::exchange(bare, {})) {
      set_up(*command, *subcommand, unused);
    }
    return tree_of(program, app, launch.path);
  };
  return run({.out = out,
              .err = err,
              .after_dashes = std::move(words.after_dashes),
              .launch = launch,
              .tree = tree});
}

/// Stands before a stream's buffer and remembers why the first write failed: the stream itself only
/// knows that one did.
class FirstFailure final : public std::streambuf {
 public:
  explicit FirstFailure(std::ostream& out) : out_(out), target_(out.rdbuf(this)) {}
  ~FirstFailure() override { out_.rdbuf(target_); }
  FirstFailure(FirstFailure const&) = delete;
  FirstFailure& operator=(FirstFailure const&) = delete;

  /// The error number; 0 if none is known.
  int cause() const { return cause_; }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) {
      return traits_type::not_eof(c);
    }
    return noted([&] { return target_->sputc(traits_type::to_char_type(c)); },
                 [](int_type put) { return !traits_type::eq_int_type(put, traits_type::eof()); });
  }
  std::streamsize xsputn(char const* text, std::streamsize size) override {
    return noted([&] { return target_->sputn(text, size); },
                 [size](std::streamsize put) { return put == size; });
  }
  int sync() override {
    return noted([&] { return target_->pubsync(); }, [](int result) { return result == 0; });
  }

 private:
  /// The caller's errno survives a write that works: std::cerr flushes std::cout before each of its
  /// own writes, so that this runs in the middle of messages about other errors.
  template <typename Write, typename Works>
  std::invoke_result_t<Write> noted(Write const& write, Works const& works) {
    int const before = std::exchange(errno, 0);
    auto const result = write();
    if (works(result)) {
      errno = before;
    } else if (cause_ == 0) {
      cause_ = errno;
    }
    return result;
  }

  std::ostream& out_;
  std::streambuf* const target_;
  int cause_ = 0;
};

}  // namespace

int run_commands(Program const& program, int argc, char const* const* argv, std::ostream& out,
                 std::ostream& err, Launch const& launch) {
  FirstFailure const failure(out);
  int const code = parse_and_run(program, argc, argv, out, err, launch);
  out.flush();
  if (out) {
    return code;
  }
  err << program.name << ": cannot write to standard output"
      << (failure.cause() == 0 ? "" : ": " + error_text(failure.cause())) << '\n';
  return code == kExitSuccess ? 1 : code;
}

}  // namespace lastcall::cli
