#include "supervisor/runtime/record/replay.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <ostream>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/error_text.hpp"
#include "base/json_member.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/operator.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

/// Many times what a step of the supervisor can be; a file without line ends is no log.
constexpr std::size_t kLongestLine = 64UL << 20U;

/// Reads a line without its end, or its beginning if it is longer than any line of a log.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  std::array<char, 4UL << 10U> part{};  // several of the usual lines; it is zeroed for each of them
  bool has_more = true;
  bool has_begun = false;
  while (has_more && line.size() <= kLongestLine) {
    in.getline(part.data(), part.size());
    auto size = static_cast<std::size_t>(in.gcount());
    has_begun = has_begun || size > 0;
    has_more = in.fail() && size == part.size() - 1;  // the line is longer than the part
    if (has_more) {
      in.clear();
    } else if (in.good()) {
      --size;  // the line end
    }
    line.append(part.data(), size);
  }
  return has_begun;
}

void print_text(runtime::Replay const& replay, std::string const& file, std::ostream& out,
                std::ostream& err) {
  if (!replay.other_version().empty()) {
    err << file << ": note: recorded by version " << replay.other_version() << ", this is "
        << LASTCALL_VERSION << '\n';
  }
  auto const& mismatch = replay.mismatch();
  if (!mismatch) {
    out << "replayed " << replay.steps() << (replay.steps() == 1 ? " step" : " steps") << " of "
        << replay.lives() << (replay.lives() == 1 ? " start" : " starts")
        << ": every action is the same\n";
    return;
  }
  err << file << ':' << mismatch->line << ": " << mismatch->problem << '\n';
  if (!mismatch->recorded.empty()) {
    err << "  recorded: " << mismatch->recorded << "\n  replayed: " << mismatch->replayed << '\n';
  }
}

void print_json(runtime::Replay const& replay, std::string const& file, std::ostream& out) {
  auto const& mismatch = replay.mismatch();
  nlohmann::ordered_json json{
      {"ok", !mismatch}, {"file", file}, {"steps", replay.steps()}, {"starts", replay.lives()}};
  if (mismatch) {
    json["line"] = mismatch->line;
    json["problem"] = mismatch->problem;
    if (!mismatch->recorded.empty()) {
      json["recorded"] = mismatch->recorded;
      json["replayed"] = mismatch->replayed;
    }
  }
  out << json::dump(json) << '\n';
}

}  // namespace

int run_replay(ReplayOptions const& options, std::ostream& out, std::ostream& err) {
  std::ifstream file;
  bool const is_standard_input = options.file == "-";
  if (!is_standard_input) {
    std::error_code error;
    bool const is_directory = std::filesystem::is_directory(options.file, error);
    file.open(options.file);
    if (!file || is_directory) {
      err << "lastcall replay: cannot open " << options.file << ": "
          << (is_directory ? std::string("a directory, expected a log") : error_text(errno))
          << '\n';
      return kExitUsage;
    }
  }
  std::istream& in = is_standard_input ? std::cin : file;
  runtime::Replay replay;
  std::string line;
  std::size_t lines = 0;
  while (read_line(in, line) && line.size() <= kLongestLine && replay.take(line)) {
    ++lines;
  }
  if (in.bad()) {  // what follows is unknown, so what was read proves nothing
    err << "lastcall replay: cannot read " << options.file << ": " << error_text(errno) << '\n';
    return kExitUsage;
  }
  if (line.size() > kLongestLine) {
    err << "lastcall replay: " << options.file << ':' << lines + 1
        << ": a line of more than 64 MiB, expected a log\n";
    return kExitUsage;
  }
  if (!replay.mismatch() && replay.steps() == 0) {
    err << "lastcall replay: " << options.file
        << ": no step in it, expected a log of lastcall serve with log.level: debug and "
           "log.format: json\n";
    return kExitUsage;
  }
  if (options.output == Output::json) {
    print_json(replay, options.file, out);
  } else {
    print_text(replay, options.file, out, err);
  }
  return replay.mismatch() ? kExitFailure : kExitSuccess;
}

}  // namespace lastcall::cli
