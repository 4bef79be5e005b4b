#include "supervisor/cli/completion.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string_view>

#include "base/words.hpp"
#include "supervisor/cli/command_line.hpp"

namespace lastcall::cli {
namespace {

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (char const c : text) {
    if (special.find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

/// Quotes a text in single quotes, inside which POSIX shells have no escapes.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (char const c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

bool is_positional(TypedOption const& option) {
  return option.names.empty();
}

// --- bash ----------------------------------------------------------------------------------------

/// The words that the user can type where no value is expected.
std::string words_of(std::vector<TypedOption> const& options) {
  std::vector<std::string> words;
  for (TypedOption const& option : options) {
    std::vector<std::string> const& more = is_positional(option) ? option.choices : option.names;
    words.insert(words.end(), more.begin(), more.end());
  }
  return joined(words, " ");
}

constexpr std::string_view kBashHead =
    R"(# bash completion for lastcall; `lastcall completion bash` prints it.
_lastcall() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' words='' i
  COMPREPLY=()
  # bash takes `--output=json` for three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' && $COMP_CWORD -gt 1 ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      mapfile -t COMPREPLY < <(compgen -A command -A file -- "$current")
      return
    elif [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
    fi
  done
  case "$command $before" in
)";

constexpr std::string_view kBashTail = R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _lastcall lastcall
)";

void bash_values(TypedCommand const& command, std::ostream& out) {
  for (TypedOption const& option : command.options) {
    if (is_positional(option) || !option.takes_value) {
      continue;
    }
    std::vector<std::string> patterns;
    for (std::string const& name : option.names) {
      patterns.push_back('"' + command.name + ' ' + name + '"');
    }
    out << "    " << joined(patterns, " | ") << ")\n";
    if (option.is_file) {
      out << "      compopt -o filenames\n"
             "      mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
             "      return\n      ;;\n";
    } else if (option.choices.empty()) {
      out << "      return\n      ;;\n";
    } else {
      out << "      words='" << joined(option.choices, " ") << "'\n      ;;\n";
    }
  }
}

bool takes_file(TypedCommand const& command) {
  for (TypedOption const& option : command.options) {
    if (is_positional(option) && option.is_file) {
      return true;
    }
  }
  return false;
}

void print_bash(CommandTree const& tree, std::ostream& out) {
  out << kBashHead;
  for (TypedCommand const& command : tree.commands) {
    bash_values(command, out);
  }
  for (TypedCommand const& command : tree.commands) {
    out << "    \"" << command.name << " \"*)\n";
    if (takes_file(command)) {
      out << "      if [[ $current != -* ]]; then\n"
             "        compopt -o filenames\n"
             "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
             "        return\n      fi\n";
    }
    out << "      words='" << words_of(command.options) << "'\n      ;;\n";
  }
  out << "    *)\n      words='" << words_of(tree.options);
  for (TypedCommand const& command : tree.commands) {
    out << ' ' << command.name;
  }
  out << "'\n      ;;\n" << kBashTail;
}

// --- zsh -----------------------------------------------------------------------------------------

std::string zsh_value(TypedOption const& option) {
  if (option.is_file) {
    return ":file:_files";
  }
  return option.choices.empty() ? ":value:" : ":value:(" + joined(option.choices, " ") + ")";
}

std::string zsh_option(TypedOption const& option) {
  if (is_positional(option)) {
    return in_quotes("*" + zsh_value(option));
  }
  std::string const summary = "[" + escaped(option.summary, "[]:\\") + "]";
  std::string const value = option.takes_value ? zsh_value(option) : "";
  std::vector<std::string> names = option.names;
  for (std::string& name : names) {
    name += option.takes_value && name.starts_with("--") ? "=" : "";  // or the next word
  }
  if (names.size() == 1) {
    return in_quotes("*" + names.front() + summary + value);
  }
  return "{" + joined(names, ",") + "}" + in_quotes(summary + value);
}

void zsh_options(std::vector<TypedOption> const& options, std::string const& indent,
                 std::ostream& out) {
  out << indent << "_arguments -s";
  for (TypedOption const& option : options) {
    out << " \\\n" << indent << "  " << zsh_option(option);
  }
  out << '\n';
}

void print_zsh(CommandTree const& tree, std::ostream& out) {
  out << "#compdef lastcall\n"
         "# zsh completion for lastcall; `lastcall completion zsh` prints it.\n"
         "_lastcall() {\n  local context state line\n  local -a commands\n  commands=(\n";
  for (TypedCommand const& command : tree.commands) {
    out << "    " << in_quotes(escaped(command.name, ":") + ":" + command.summary) << '\n';
  }
  out << "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n";
  zsh_options(tree.options, "    ", out);
  out << "    return\n  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n"
         "  local -i dashes=${words[(i)--]}\n"
         "  if ((dashes < CURRENT)); then  # what follows is a command line of its own\n"
         "    shift $dashes words\n    ((CURRENT -= dashes))\n    _normal\n    return\n  fi\n"
         "  case $command in\n";
  for (TypedCommand const& command : tree.commands) {
    out << "    " << command.name << ")\n";
    zsh_options(command.options, "      ", out);
    out << "      ;;\n";
  }
  out << "  esac\n}\n"
         "if [[ $funcstack[1] == _lastcall ]]; then\n  _lastcall \"$@\"\nelse\n"
         "  compdef _lastcall lastcall\nfi\n";
}

// --- fish ----------------------------------------------------------------------------------------

constexpr std::string_view kFishHead = R"(complete -c lastcall -f
# What follows `--` is a command line of its own.
function __lastcall_after_dashes
  contains -- -- (commandline -opc)
end
function __lastcall_complete_command
  set -l words (commandline -opc)
  set -l dashes (contains -i -- -- $words)
  set -e words[1..$dashes]
  complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end
complete -c lastcall -n __lastcall_after_dashes -x -a '(__lastcall_complete_command)'
)";

std::string fish_quoted(std::string_view text) {
  return "'" + escaped(text, "'\\") + "'";
}

void fish_option(TypedOption const& option, std::string const& condition, std::ostream& out) {
  out << "complete -c lastcall -n " << fish_quoted(condition);
  for (std::string const& name : option.names) {
    out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
  }
  if (!is_positional(option) && option.takes_value) {
    out << (option.is_file ? " -r -F" : " -x");
  } else if (is_positional(option)) {
    out << (option.is_file ? " -F" : "");
  }
  if (!option.choices.empty()) {
    out << " -a " << fish_quoted(joined(option.choices, " "));
  }
  out << " -d " << fish_quoted(option.summary) << '\n';
}

void print_fish(CommandTree const& tree, std::ostream& out) {
  out << "# fish completion for lastcall; `lastcall completion fish` prints it.\n" << kFishHead;
  for (TypedOption const& option : tree.options) {
    fish_option(option, "__fish_use_subcommand", out);
  }
  for (TypedCommand const& command : tree.commands) {
    out << "complete -c lastcall -n __fish_use_subcommand -a " << command.name << " -d "
        << fish_quoted(command.summary) << '\n';
  }
  for (TypedCommand const& command : tree.commands) {
    for (TypedOption const& option : command.options) {
      fish_option(option, "__fish_seen_subcommand_from " + command.name, out);
    }
  }
}

// --- between two programs ------------------------------------------------------------------------

std::vector<std::string> split(std::string const& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> words_in(std::string_view field) {
  std::vector<std::string_view> const words = lastcall::split(field, " ");
  return {words.begin(), words.end()};
}

}  // namespace

void print_tree(CommandTree const& tree, std::ostream& out) {
  for (TypedCommand const& command : tree.commands) {
    out << command.name << '\t' << command.summary << '\n';
    for (TypedOption const& option : command.options) {
      out << '\t' << joined(option.names, " ") << '\t' << option.summary << '\t'
          << joined(option.choices, " ") << '\t' << option.takes_value << '\t' << option.is_file
          << '\n';
    }
  }
}

std::vector<TypedCommand> read_tree(std::string const& text) {
  std::vector<TypedCommand> commands;
  for (std::string const& line : split(text, '\n')) {
    std::vector<std::string> const fields = split(line, '\t');
    if (fields.size() == 2) {
      commands.push_back({fields[0], fields[1], {}});
    } else if (fields.size() == 6 && !commands.empty()) {
      commands.back().options.push_back({.names = words_in(fields[1]),
                                         .summary = fields[2],
                                         .choices = words_in(fields[3]),
                                         .takes_value = fields[4] == "1",
                                         .is_file = fields[5] == "1"});
    }
  }
  return commands;
}

int run_completion(std::string const& shell, CommandTree const& tree, std::ostream& out) {
  if (shell == "bash") {
    print_bash(tree, out);
  } else if (shell == "zsh") {
    print_zsh(tree, out);
  } else {
    print_fish(tree, out);
  }
  return kExitSuccess;
}

}  // namespace lastcall::cli
