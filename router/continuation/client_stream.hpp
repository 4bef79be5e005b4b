// The stream that a client gets: the events of all legs, presented as one answer.
//
// Rules:
//  1. There is one id, one `created` and one model, those of the first leg; one role; one
//     finish_reason; the usage of one request; and one [DONE].
//  2. Fields that a leg reports beyond the client's request are removed, and an event with nothing
//     else is left out; all other bytes of an event stay as they are.
//  3. Every event is whole.
//
// Pure, no thread rule. Source: docs/continuation.md, its introduction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/compact_array.hpp"
#include "router/continuation/chunk.hpp"
#include "router/continuation/event_reader.hpp"
#include "router/continuation/json_edits.hpp"
#include "router/continuation/request.hpp"

namespace lastcall::router::continuation {

class ClientStream {
 public:
  /// `request` outlives this.
  explicit ClientStream(Request const& request) : request_(request) {}

  /// The state that a leg continues from.
  struct Before {
    std::uint64_t kept = 0;               // tokens of the legs before this one
    std::optional<std::uint64_t> prompt;  // tokens of the client's own prompt, if known
    std::uint64_t characters = 0;         // characters of the text that is part of its prompt
    TokenIds early_ids{};                 // set by report_early()
  };
  struct Leg {
    std::unique_ptr<Before> before{};  // absent if it begins the answer
    bool is_later = false;             // the client has events of an earlier leg
    bool asks_more = false;
  };
  /// Replaces the present leg and returns it.
  Leg begin_leg(Leg leg) { return std::exchange(leg_, std::move(leg)); }
  /// Sets the ids of events of this leg that were left out; the next event with ids reports them
  /// first.
  void report_early(TokenIds ids) {
    if (leg_.before) {
      leg_.before->early_ids = std::move(ids);
    }
  }

  /// The part of the texts that the client may see; absent if a text is sent unchanged.
  struct Texts {
    std::optional<std::string> content;
    std::optional<std::string> reasoning;
  };
  void piece(Event const& event, Chunk const& chunk, Texts const& texts, std::string& out);
  void usage(Event const& event, Chunk const& chunk, std::string& out);
  void raw(std::string_view bytes, bool is_event, std::string& out);

  // --- events that lastcall itself generates ---
  void text(std::string_view content, std::string_view reasoning, std::string& out);
  void finish(std::string_view reason, std::string& out);
  /// Sends the usage if it was requested, is known, and has not been reported yet.
  void own_usage(std::optional<std::uint64_t> prompt, std::optional<std::uint64_t> completion,
                 std::string& out);
  void done(std::string& out);

  Request const& request() const { return request_; }
  std::uint64_t events() const { return events_; }
  /// Whether each of its choices has a finish_reason.
  bool has_finished() const { return request_.choices && finishes_ >= *request_.choices; }
  bool has_begun() const { return !head_.empty(); }
  bool is_later() const { return leg_.is_later; }

 private:
  void learn(Chunk const& chunk);
  void change_usage(JsonEdits& edits, Chunk const& chunk) const;
  void change_choice(JsonEdits& edits, Chunk const& chunk, Texts const& texts) const;
  void add_early_ids(JsonEdits& edits, Chunk const& chunk);
  bool is_left_out(Chunk const& chunk, Texts const& texts) const;
  void emit(Event const& event, JsonEdits& edits, std::string& out);
  void append_own(std::string const& json, std::string& out);

  Request const& request_;
  /// The values at the beginning of every event, one per line; empty until an event has arrived.
  CompactText head_;
  std::uint32_t events_ = 0;
  std::uint32_t finishes_ = 0;  // events with a finish_reason
  [[no_unique_address]] Leg leg_;
  bool has_role_ = false;
  bool has_usage_ = false;
  bool says_reasoning_content_ = false;  // instead of `reasoning`
};

}  // namespace lastcall::router::continuation
