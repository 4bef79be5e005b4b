// One request and its response, while it is under way.
//
// Plain state of the connection that carries it; client_*.cpp hold what it means. No thread rule.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/admission_limits.hpp"
#include "core/vocabulary.hpp"
#include "ingress/deadlines.hpp"
#include "ingress/held_error.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/waiting_bytes.hpp"
#include "relay/body_look.hpp"
#include "relay/chunk_decoder.hpp"
#include "relay/event_scanner.hpp"
#include "relay/http_head.hpp"

namespace lastcall::ingress {

/// A longer head of a response is none.
inline constexpr std::size_t kMaxResponseHead = 64 * 1024;

struct Exchange {
  enum class Response : std::uint8_t { head, body, tunnel, done };
  /// Its connection to the engine, and what the core knows of it; measured.
  static constexpr std::size_t kAround = 2 * 1024;

  Exchange(DeadlineOwner& owner, std::size_t& waiting_bytes, MemoryBudget& memory)
      : waiting(waiting_bytes), total(owner), charge(memory) {}

  /// Of the request; nothing of it will be written again.
  void forget_sent() {
    to_engine_at = 0;
    std::string().swap(to_engine);
    waiting.release();
  }

  /// Charges what it holds now.
  void weigh() {
    charge.set(sizeof *this + kAround + to_engine.capacity() + head.capacity() +
               part_of_event.capacity() + (held ? held->bytes.capacity() : 0));
  }

  /// How many events of the response its client has.
  std::uint64_t events_sent() const { return held ? held->events_before : events.events(); }

  // --- who ---
  std::string id;
  std::uint64_t serial = 0;  // since it asked for its place
  std::string endpoint;
  std::string model;
  std::string parent;  // in the tier above, where one relays this
  std::uint8_t priority = lifecycle::kUsualPriority;
  std::chrono::milliseconds began_at{};
  bool counts = false;
  bool begun = false;  // the tracker knows it
  bool admitted = false;
  bool defers_cancel = false;  // the engine keeps it until its first byte, whoever leaves
  bool ended = false;
  lifecycle::Outcome outcome = lifecycle::Outcome::completed;

  // --- the request ---
  relay::Version version = relay::Version::http11;
  bool head_only = false;
  bool keep_alive = true;
  bool upgrade = false;
  bool expects_continue = false;
  bool is_repeatable = false;  // to be sent again when a pooled connection turns out closed
  bool was_repeated = false;
  bool request_done = false;
  bool request_is_broken = false;  // the engine takes no more of it
  bool engine_has_some = false;    // of it
  relay::Framing request;
  std::uint64_t request_left = 0;
  std::uint64_t body_bytes = 0;
  std::chrono::milliseconds awaited_since{};  // its next part; zero: that is not waited for
  std::chrono::milliseconds behind{};         // of the pace that is asked of it
  relay::ChunkDecoder request_chunks;
  std::optional<relay::BodyLook> look;  // while `model` and `stream` are looked for
  std::optional<bool> streaming;
  std::size_t failed_addresses = 0;  // of the engine's, in a row
  std::string to_engine;  // not written yet, and before it what may have to be written again
  std::size_t to_engine_at = 0;
  WaitingBytes waiting;  // of it, what came while the request waited for its place

  // --- the response ---
  Response response = Response::head;
  relay::HeadScanner head_scanner;
  std::string head;  // of which only a part has come
  relay::Framing framing;
  std::uint64_t response_left = 0;
  relay::ChunkDecoder response_chunks;
  bool head_sent = false;
  bool has_first_byte = false;  // see first_byte.hpp
  bool is_served = false;       // what answers is no error
  bool chunked_to_client = false;
  bool engine_keeps_alive = false;
  bool closes_with_it = false;  // the end of the connection is the end of the response
  bool is_event_stream = false;
  bool is_torn = false;  // the client has a part of an event
  bool is_cut = false;
  bool is_malformed = false;
  std::unique_ptr<HeldError> held;
  bool was_held = false;
  relay::EventScanner events;
  std::string part_of_event;  // held back
  std::string last_words;     // of a stream of events that ends with its connection
  bool awaits_verdict =
      false;  // that connection has ended; whether the engine has is not known yet
  std::chrono::milliseconds last_event_at{};
  std::uint64_t bytes_sent = 0;
  Deadline total;
  Charge charge;
};

}  // namespace lastcall::ingress
