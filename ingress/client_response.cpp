// The way of a response back to the client.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"
#include "relay/engine_error.hpp"
#include "relay/first_byte.hpp"
#include "relay/head_writer.hpp"

namespace lastcall::ingress {
namespace {

using Response = Exchange::Response;

/// A part of an event that is longer than this is not held back any more.
constexpr std::size_t kMaxHeldEvent = 64 * 1024;
/// `[DONE]` and the lines that end its event.
constexpr std::size_t kLastWords = 16;

}  // namespace

void Client::response(std::span<char> bytes) {
  if (!exchange_ || exchange_->response == Response::done) {
    drop_upstream();  // more than it was asked for
    return;
  }
  std::string& wire = proxy_.wire();
  wire.clear();
  while (!bytes.empty() && !has_all_of_response()) {
    switch (exchange_->response) {
      case Response::head:
        if (!response_head(bytes, wire)) {
          exchange_->is_malformed = true;
          bytes = {};
        }
        break;
      case Response::body:
        response_body(bytes, wire);
        break;
      case Response::tunnel:
        wire.append(bytes.data(), bytes.size());
        exchange_->bytes_sent += bytes.size();
        bytes = {};
        break;
      case Response::done:
        break;
    }
  }
  responded(wire, bytes.empty());
}

bool Client::has_all_of_response() const {
  return exchange_->response == Response::done || (exchange_->held && exchange_->held->is_last);
}

/// What follows from `wire`; `took_all`: the engine has said no more than that.
void Client::responded(std::string_view wire, bool took_all) {
  Exchange& x = *exchange_;
  if (x.begun && x.has_first_byte) {
    proxy_.tracker().moved(x.id);
  }
  if (x.held) {
    x.engine_keeps_alive = x.engine_keeps_alive && took_all;
    write(wire);
    return;
  }
  if (x.response == Response::done && upstream_ != nullptr) {
    // An engine that answers early may read the rest of the body later: what comes then on this
    // connection would be taken for it. RFC 9112, 9.3.
    bool const has_all = x.request_done && x.to_engine_at == x.to_engine.size();
    bool const keep = x.engine_keeps_alive && has_all && !x.request_is_broken && took_all &&
                      !x.is_cut && x.framing.kind != relay::Framing::Kind::until_close;
    std::exchange(upstream_, nullptr)->release(keep);
  }
  write(wire);
  if (dead_ || !out_.empty()) {
    return;
  }
  if (x.is_malformed) {
    engine_failed();
  } else if (x.response == Response::done) {
    end_exchange();
  } else {
    if (x.response != Response::body || x.has_first_byte) {  // else it waits for that already
      await_response();
    }
    take_early_words();
  }
}

/// What the client of a tunnel said before it was there: read with the head, or not at all.
void Client::take_early_words() {
  if (exchange_->response == Response::tunnel && !consuming_) {
    read_on();
  }
}

/// False when what came is no response. Takes what it used off `bytes`.
bool Client::response_head(std::span<char>& bytes, std::string& wire) {
  Exchange& x = *exchange_;
  std::string_view text(bytes.data(), bytes.size());
  std::size_t const before = x.head.size();
  if (before > 0) {
    text = x.head.append(text);
  }
  relay::HeadScanner::Found const found = x.head_scanner.scan(text);
  if (found == relay::HeadScanner::Found::incomplete && text.size() <= kMaxResponseHead) {
    if (before == 0) {
      x.head.assign(text);
    }
    bytes = {};
    return true;
  }
  if (found != relay::HeadScanner::Found::complete) {
    return false;
  }
  std::size_t const length = x.head_scanner.length();
  bool const is_good = start_response(text.substr(0, length), wire);
  if (x.held) {
    x.held->bytes = text;
    bytes = {};
  } else {
    bytes = bytes.subspan(length - before);
  }
  std::string().swap(x.head);
  x.head_scanner.reset();
  return is_good;
}

bool Client::start_response(std::string_view bytes, std::string& wire) {
  Exchange& x = *exchange_;
  relay::ResponseHead head;
  if (relay::parse_response_head(bytes, head) ||
      relay::response_framing(head, x.head_only ? "HEAD" : "", x.framing)) {
    return false;
  }
  if (head.status == 101) {
    if (!x.upgrade) {
      return false;
    }
    relay::write_response_head(wire, head, {.request_id = x.id, .upgrade = true});
    x.response = Response::tunnel;
    x.request_done = false;  // what the client says from now on goes through
    x.head_sent = true;
    end_ = End::close;
    note_first_byte();
    return true;
  }
  if (head.status < 200) {
    if (head.status != 100 && x.version == relay::Version::http11) {
      relay::write_response_head(wire, head, {});  // 100 was said by us
    }
    return true;
  }
  if (relay::error_of_answer(head) == relay::EngineError::suspect && may_hold()) {
    hold(HeldError::Part::answer);
  } else {
    prepare_return(head, wire);
  }
  return true;
}

void Client::prepare_return(relay::ResponseHead const& head, std::string& wire) {
  Exchange& x = *exchange_;
  x.engine_keeps_alive = head.version == relay::Version::http11 ? !head.connection.has("close")
                                                                : head.connection.has("keep-alive");
  bool const is_open_ended = x.framing.kind == relay::Framing::Kind::chunked ||
                             x.framing.kind == relay::Framing::Kind::until_close;
  x.chunked_to_client = is_open_ended && x.version == relay::Version::http11;
  x.closes_with_it = is_open_ended && !x.chunked_to_client;
  x.response_left = x.framing.length;
  x.is_event_stream = relay::is_event_stream(head);
  x.is_served = head.status < 300;
  x.outcome = head.status >= 500 ? lifecycle::Outcome::error : lifecycle::Outcome::completed;
  bool const close =
      !x.keep_alive || x.closes_with_it || !x.request_done || proxy_.is_closing(place_);
  if (close) {
    end_ = x.request_done ? End::close : End::linger;
  }
  relay::write_response_head(wire, head,
                             {.request_id = x.id,
                              .chunked = x.chunked_to_client,
                              .close = close,
                              .keep_alive = x.version == relay::Version::http10});
  x.head_sent = true;
  x.response = x.framing.kind == relay::Framing::Kind::none ? Response::done : Response::body;
  if (!relay::begins_with_its_body(head, x.framing, x.streaming.value_or(false))) {
    note_first_byte();
  }
}

void Client::note_first_byte() {
  Exchange& x = *exchange_;
  x.has_first_byte = true;
  if (x.begun) {
    proxy_.tracker().first_byte(x.id, x.endpoint,
                                x.is_served ? proxy_.served_anew(x.model) : std::string_view(),
                                monotonic_now() - x.began_at);
  }
}

// --- the body ------------------------------------------------------------------------------------

void Client::response_body(std::span<char>& bytes, std::string& wire) {
  Exchange& x = *exchange_;
  switch (x.framing.kind) {
    case relay::Framing::Kind::length: {
      auto const size =
          static_cast<std::size_t>(std::min<std::uint64_t>(x.response_left, bytes.size()));
      x.response_left -= size;
      deliver({bytes.data(), size}, wire);
      bytes = bytes.subspan(size);
      if (x.response_left == 0) {
        finish_response(wire);
      }
      return;
    }
    case relay::Framing::Kind::chunked: {
      relay::ChunkDecoder::Step const step = x.response_chunks.decode(bytes);
      deliver({bytes.data(), step.payload}, wire);
      bytes = bytes.subspan(step.consumed);
      if (step.state == relay::ChunkDecoder::State::done) {
        finish_response(wire);
      } else if (step.state == relay::ChunkDecoder::State::bad) {
        x.is_malformed = true;
        bytes = {};
      }
      return;
    }
    case relay::Framing::Kind::until_close:
      deliver({bytes.data(), bytes.size()}, wire);
      bytes = {};
      return;
    case relay::Framing::Kind::none:
      bytes = {};
      return;
  }
}

/// Whole events at once, so that the stream can be cut between two of them.
void Client::deliver(std::string_view payload, std::string& wire) {
  Exchange& x = *exchange_;
  if (!x.has_first_byte && !payload.empty()) {
    note_first_byte();
  }
  if (!x.is_event_stream) {
    emit(payload, {}, wire);
    return;
  }
  if (x.framing.kind == relay::Framing::Kind::until_close) {
    x.last_words.append(payload.substr(payload.size() - std::min(payload.size(), kLastWords)));
    x.last_words.erase(0, x.last_words.size() - std::min(x.last_words.size(), kLastWords));
  }
  std::size_t const boundary = x.events.scan(payload);
  if (x.held) {
    x.held->bytes.append(payload);
    return;
  }
  if (x.events.suspect() && hold_event(payload, wire)) {
    return;
  }
  std::string_view const whole = payload.substr(0, boundary);
  std::string_view const part = payload.substr(boundary);
  if (boundary > 0) {
    emit(x.part_of_event, whole, wire);
    std::string().swap(x.part_of_event);
    x.is_torn = false;
    note_event();
  }
  if (x.is_torn || x.part_of_event.size() + part.size() > kMaxHeldEvent) {
    emit(x.part_of_event, part, wire);
    std::string().swap(x.part_of_event);
    x.is_torn = true;
  } else if (!part.empty()) {
    x.part_of_event.append(part);
  }
}

void Client::note_event() {
  Exchange& x = *exchange_;
  std::chrono::milliseconds const now = monotonic_now();
  std::chrono::milliseconds const last = std::exchange(x.last_event_at, now);
  if (x.begun && last.count() > 0) {
    proxy_.tracker().event_gap(x.endpoint, now - last);
  }
}

void Client::emit(std::string_view first, std::string_view second, std::string& wire) {
  Exchange& x = *exchange_;
  std::size_t const size = first.size() + second.size();
  if (size == 0) {
    return;  // an empty chunk would be the end of the stream
  }
  x.bytes_sent += size;
  if (!x.chunked_to_client) {
    wire.append(first).append(second);
    return;
  }
  std::array<char, 20> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16);
  wire.append(digits.data(), end.ptr).append("\r\n");
  wire.append(first).append(second).append("\r\n");
}

void Client::finish_response(std::string& wire) {
  Exchange& x = *exchange_;
  if (x.held) {
    x.held->is_last = true;
    return;
  }
  emit(x.part_of_event, {}, wire);
  std::string().swap(x.part_of_event);
  if (x.chunked_to_client) {
    wire.append("0\r\n\r\n");
  }
  x.response = Response::done;
}

}  // namespace lastcall::ingress
