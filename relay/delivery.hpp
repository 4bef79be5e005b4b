// The client's side of a response: the bytes that the client has and those that it gets next, from
// whichever engine they come.
//
// Rules:
//  1. A response is sent once: its head, its payload, and its end. A client that has a byte of it
//     gets no other status, and a response that was cut never looks finished.
//  2. An HTTP/1.1 client gets chunks if the length is not known; an HTTP/1.0 client gets a
//     connection that ends with the response.
//  3. The first byte is that of the engine's work (first_byte.hpp): the state `opened` waits for
//     it.
//  4. A stream whose [DONE] was sent is whole: whatever ends it then, its end is sent.
//
// Pure, no thread rule. Source: RFC 9112, sections 6 and 7; docs/ingress.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "relay/event_stream.hpp"
#include "relay/http_head.hpp"
#include "relay/moves.hpp"
#include "relay/refusal.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::relay {

enum class DeliveryState : std::uint8_t {
  nothing,  // nothing but interim answers was sent
  opened,   // the head was sent; nothing of the engine's work was
  flowing,
  tunnel,
  done,
  cut,  // it ended early, or was refused
};
enum class DeliveryEvent : std::uint8_t { open, switched, first_byte, end, cut };

inline constexpr Moves<DeliveryState, DeliveryEvent, 6, 5> kDeliveryMoves{{{
    // open, switched, first_byte, end, cut
    {DeliveryState::opened, DeliveryState::tunnel, kNever, kNever, DeliveryState::cut},  // nothing
    {kNever, kNever, DeliveryState::flowing, DeliveryState::done, DeliveryState::cut},   // opened
    {kNever, kNever, kNever, DeliveryState::done, DeliveryState::cut},                   // flowing
    {kNever, kNever, kNever, DeliveryState::done, DeliveryState::cut},                   // tunnel
    // The last bytes may still wait for the client when it is cut off.
    {kNever, kNever, kNever, kNever, DeliveryState::cut},  // done
    {kNever, kNever, kNever, kNever, DeliveryState::cut},  // cut
}}};

/// How a response is ended early.
enum class Farewell : std::uint8_t {
  refusal,      // another answer is sent in its place
  last_chunk,   // it was whole, and only the end of its body was missing
  error_event,  // it ends with a last event of the stream
  silence,      // its connection ends before the announced length
  reset,        // its connection is reset, because an orderly end would look complete
};

class Delivery {
 public:
  enum class Coding : std::uint8_t { as_it_came, chunked, until_close };

  DeliveryState state() const { return state_; }
  bool is_over() const { return state_ >= DeliveryState::done; }
  /// Whether the head was sent, and not all of the body.
  bool is_in_body() const {
    return state_ == DeliveryState::opened || state_ == DeliveryState::flowing;
  }
  /// Whether a byte of the engine's work was sent.
  bool has_first_byte() const {
    return state_ == DeliveryState::flowing || state_ == DeliveryState::tunnel;
  }
  bool is_served() const { return status_ >= 200 && status_ < 300; }
  bool is_event_stream() const { return kind_ == Kind::events; }
  Coding coding() const { return coding_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  /// The stream is made on demand; payloads that are no events, and events that are read elsewhere,
  /// have none.
  EventStream& events() {
    if (!events_) {
      events_ = std::make_unique<EventStream>();
    }
    return *events_;
  }
  EventStream const& events() const {
    static EventStream const kNone;
    return events_ ? *events_ : kNone;
  }
  /// Bytes that this object holds outside of itself.
  std::size_t capacity() const {
    return events_ ? sizeof *events_ + events_->part().capacity() : 0;
  }

  struct Opening {
    std::string_view request_id;
    Framing framing;  // as it comes from the engine
    bool streaming = false;
    bool close = false;
  };
  /// Passes on an interim answer. A 100 is left out, because the client has it already; a client of
  /// HTTP/1.0 gets no interim answers.
  void interim(ResponseHead const& head, Version version, std::string& wire);
  void switch_protocols(ResponseHead const& head, std::string_view request_id, std::string& wire);
  static Coding coding_of(Framing const& framing, Version version);
  /// Writes the head.
  void open(ResponseHead const& head, Opening const& opening, Version version, std::string& wire);
  void first_byte() { kDeliveryMoves.apply(state_, DeliveryEvent::first_byte); }

  /// Writes payload, in one chunk.
  void emit(std::string_view first, std::string_view second, std::string& wire);
  /// Passes bytes through a tunnel.
  void pass(std::string_view bytes, std::string& wire);
  /// Passes on the events that a scanned payload completes. Returns true if whole events were sent.
  bool emit_events(std::string_view payload, std::size_t boundary, std::string& wire);
  void finish(std::string& wire);
  void end_tunnel() { kDeliveryMoves.apply(state_, DeliveryEvent::end); }
  /// Ends the response early, or where it is whole. `events`: the number that the client has.
  Farewell cut(Refusal const& refusal, std::string_view request_id, std::uint64_t events,
               std::string& wire);
  /// How an answer is sent in place of a response.
  struct Refusing {
    std::string_view request_id;
    bool close = false;
    bool head_only = false;
  };
  void refuse(Refusal const& refusal, Refusing const& how, std::string& wire);
  /// Ends the response silently.
  void cut() { kDeliveryMoves.apply(state_, DeliveryEvent::cut); }

 private:
  enum class Kind : std::uint8_t { bytes, events };

  DeliveryState state_ = DeliveryState::nothing;
  Coding coding_ = Coding::as_it_came;
  Kind kind_ = Kind::bytes;
  std::uint16_t status_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::unique_ptr<EventStream> events_;
};

/// Whether the client was sent what clients treat as the end of an answer, and the end of the body
/// can still be sent. An error event behind it would report the failure of an answer that is whole.
inline bool is_whole(Delivery const& delivery) {
  return delivery.is_in_body() && delivery.is_event_stream() &&
         delivery.coding() != Delivery::Coding::as_it_came &&
         delivery.events().at() == EventStream::At::boundary && delivery.events().has_sent_done();
}

}  // namespace lastcall::relay
