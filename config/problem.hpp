// A fault in a configuration, and its place.
//
// Rules:
//  1. A problem names its place the way compilers do, so that editors can jump to it. A value from
//     a flag or a variable has no line: its place is the flag or the variable itself.
//  2. Problems are values and are collected; one run of the program shows them all.
//  3. The text states what is wrong and what was expected.
//
// Pure values, no thread rule.
#pragma once

#include <string>
#include <vector>

namespace lastcall::config {

struct Place {
  std::string source;  // a file, "--set admission.queue_limit", or "LASTCALL_LOG_LEVEL"
  int line = 0;        // from 1; 0: the source has no lines
  int column = 0;
  friend bool operator==(Place const&, Place const&) = default;
};

struct Problem {
  Place place;
  std::string key;  // empty: the problem is not about one key
  std::string text;
  friend bool operator==(Problem const&, Problem const&) = default;
};

using Problems = std::vector<Problem>;

/// "lastcall.yaml:3:17: shutdown.grace_period: what is wrong, what was expected"
std::string to_text(Problem const& problem);

/// Sorts by source in order of first appearance, then by line and column.
void sort_by_place(Problems& problems);

}  // namespace lastcall::config
