// A gate between an engine's text and its client: it finds stop strings, also across the seam of
// two legs, and holds back what may be the start of one, or white space that a template would trim.
//
// Rules:
//  1. What was passed on cannot be withdrawn, so text that may still be cut off is held.
//  2. Held text is a part of what the engine sent: a continuation by ids keeps it held; one by text
//     in a chat drops white space at the end of it, which the next leg sends again.
//
// Pure, no thread rule. Source: vLLM's `stop` and `include_stop_str_in_output`;
// docs/continuation.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lastcall::router::continuation {

class TextGate {
 public:
  /// The rules of the request, which keeps them: a gate has only the text that it holds.
  struct Rules {
    std::span<std::string const> stops;
    bool keeps_stop = false;   // the client wants to see it
    bool holds_space = false;  // at the end

    bool are_open() const { return stops.empty() && !holds_space; }
  };

  struct Out {
    std::string text;         // goes to the client now
    bool is_stopped = false;  // the text ends here, with a stop string
  };
  Out pass(std::string_view text, Rules const& rules);
  /// The engine has sent everything: returns what was held.
  std::string flush();
  /// Drops the white space at the end of what is held; returns how many bytes.
  std::size_t drop_space();
  std::string_view held() const { return held_; }

 private:
  std::string held_;
  std::unique_ptr<std::string> seen_;  // the end of what went out, where stop strings are kept
};

/// Bytes of white space at the end, as templates trim them.
std::size_t space_at_end(std::string_view text);

}  // namespace lastcall::router::continuation
