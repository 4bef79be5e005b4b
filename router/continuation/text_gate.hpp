// A gate between an engine's text and its client. It finds stop strings, also across the seam
// between two legs, and holds back text that may be the start of one, as well as white space that a
// template would trim.
//
// Rules:
//  1. Text that was passed on cannot be withdrawn, so text that may still be cut off is held.
//  2. Held text is a part of what the engine sent: a continuation by ids keeps it held; one by text
//     in a chat drops the white space at its end, which the next leg sends again.
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
  /// The rules of the request. The request owns them; a gate owns only the text that it holds.
  struct Rules {
    std::span<std::string const> stops;
    bool keeps_stop = false;   // the client wants to receive the stop string
    bool holds_space = false;  // white space at the end is held

    bool are_open() const { return stops.empty() && !holds_space; }
  };

  struct Out {
    std::string text;         // the text that goes to the client now
    bool is_stopped = false;  // the text ends here, because of a stop string
  };
  Out pass(std::string_view text, Rules const& rules);
  /// Called when the engine has sent everything: returns the held text.
  std::string flush();
  /// Drops the white space at the end of the held text; returns the number of bytes dropped.
  std::size_t drop_space();
  std::string_view held() const { return held_; }

 private:
  std::string held_;
  std::unique_ptr<std::string> seen_;  // the end of the passed-on text, if stop strings are kept
};

/// The number of bytes of white space at the end, as templates trim them.
std::size_t space_at_end(std::string_view text);

}  // namespace lastcall::router::continuation
