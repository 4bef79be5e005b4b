// Writes the texts of an answer through their gates into the client's events.
//
// Rule: held text of one kind is sent before text of the other kind, before a tool call, and before
// the end.
// Pure, no thread rule. Source: docs/continuation.md, 'What continues'.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "router/continuation/client_stream.hpp"
#include "router/continuation/text_gate.hpp"

namespace lastcall::router::continuation {

class Voice {
 public:
  /// `request` outlives this.
  explicit Voice(Request const& request) : client_(request) {}
  Voice(Voice const&) = delete;
  Voice& operator=(Voice const&) = delete;

  /// Returns true if the text ends here with a stop string, whatever the engine sends after it.
  bool piece(Event const& event, Chunk const& chunk, std::string& out);
  ClientStream& client() { return client_; }
  ClientStream const& client() const { return client_; }
  std::string_view held() const { return content_.held(); }
  std::size_t drop_space() { return content_.drop_space(); }
  /// Called when the engine has sent everything and the last event was not a piece: the held text
  /// is sent.
  void release(std::string& out);
  /// Called when the held text will be sent again.
  void begin_again();

 private:
  void reasoning(Chunk const& chunk, ClientStream::Texts& texts, std::string& out);
  void content(Chunk const& chunk, ClientStream::Texts& texts, std::string& out);

  TextGate content_;
  std::unique_ptr<TextGate> reasoning_;  // present only if the answer reasons
  [[no_unique_address]] ClientStream client_;
  bool is_stopped_ = false;
};

}  // namespace lastcall::router::continuation
