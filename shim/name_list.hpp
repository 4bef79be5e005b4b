// The names of processes as a JSON array. Each is listed once, so the list does not show how many
// there are.
//
// Rules: 1. a list names all of the processes or none, so its reader may conclude that a process is
// absent; 2. at most 32 names, which no engine of one machine exceeds. No thread rule.
#pragma once

#include <algorithm>
#include <cstddef>

#include "shim/json.hpp"
#include "shim/process_name.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

inline constexpr std::size_t kLongestNames = 4 * 1024;

class NameList {
 public:
  static constexpr std::size_t kMost = 32;

  void add(ProcessName const& name) {
    if (name.size == 0) {  // the process was gone while its name was read
      return misses_some();
    }
    ProcessName* const end = names_ + count_;
    bool const is_known = std::any_of(
        names_, end, [&](ProcessName const& known) { return known.view() == name.view(); });
    if (is_known) {
      return;
    }
    is_complete_ = is_complete_ && count_ < kMost;
    if (is_complete_) {
      names_[count_++] = name;
    }
  }
  /// Some processes have names that are unknown.
  void misses_some() { is_complete_ = false; }

  /// Writes the array; nothing if not all processes are named.
  void write(Text& out) const {
    out.clear();
    if (!is_complete_) {
      return;
    }
    json::Writer list(out);
    list.open_array();
    for (std::size_t i = 0; i < count_; ++i) {
      list.string("", names_[i].view());
    }
    list.close_array();
    if (out.overflowed()) {
      out.clear();
    }
  }

 private:
  ProcessName names_[kMost];
  std::size_t count_ = 0;
  bool is_complete_ = true;
};

}  // namespace lastcall::shim
