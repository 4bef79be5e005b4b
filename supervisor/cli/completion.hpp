// `lastcall completion SHELL`: prints the script that completes the command line in a shell.
//
// Rules:
//  1. Everything comes from the tree that parses the command line: a new subcommand, flag or choice
//     is completed without a change here.
//  2. The scripts need only their shell; the bash one also works without bash-completion.
//
// Pure except for the stream; no thread rule. Exit code 0.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace lastcall::cli {

/// An option, or a positional argument if it has no names.
struct TypedOption {
  std::vector<std::string> names;  // with their dashes
  std::string summary;
  std::vector<std::string> choices;  // empty: anything
  bool takes_value = false;
  bool is_file = false;
};

struct TypedCommand {
  std::string name;
  std::string summary;
  std::vector<TypedOption> options;
};

struct CommandTree {
  std::vector<TypedOption> options;  // before any subcommand
  std::vector<TypedCommand> commands;
};

/// Prints commands as lines with tabs between the fields, for a program that completes them, too.
void print_tree(CommandTree const& tree, std::ostream& out);
/// Reads what print_tree() wrote; any other line is skipped.
std::vector<TypedCommand> read_tree(std::string const& text);

int run_completion(std::string const& shell, CommandTree const& tree, std::ostream& out);

}  // namespace lastcall::cli
