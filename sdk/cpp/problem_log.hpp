// Logs the problems of a client, in one line each.
//
// Rules:
//  1. The lines go to the program's function if it has set one, otherwise to standard error.
//  2. A supervisor that is absent or refuses this client does so at each attempt: in_a_row() logs
//     such a line only if it differs from the one before.
//
// Thread rule: operator() from any thread; the rest belongs to the thread that processes. Source:
// ClientOptions::log.
#pragma once

#include <functional>
#include <string>

namespace lastcall::sdk {

class ProblemLog {
 public:
  explicit ProblemLog(std::function<void(std::string const&)> sink);

  void operator()(std::string const& text) const;
  /// Logs the text unless the last call logged the same.
  void in_a_row(std::string text);
  /// The next text is new, whatever it is.
  void end_row() { last_.clear(); }

 private:
  std::function<void(std::string const&)> const sink_;
  std::string last_;
};

}  // namespace lastcall::sdk
