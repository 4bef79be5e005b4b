#include "relay/request_side.hpp"

#include <algorithm>
#include <utility>

#include "relay/chunk_writer.hpp"

namespace lastcall::relay {
namespace {

/// A longer body asks for its place and is passed on to the engine before it is complete, whether
/// `model` and `stream` were found or not.
constexpr std::size_t kHeldBody = 64 * 1024;

ToEngine::Again repeatable(Framing const& framing, Asked const& asked) {
  return framing.kind == Framing::Kind::none && asked.is_idempotent ? ToEngine::Again::harmless
                                                                    : ToEngine::Again::if_untouched;
}

}  // namespace

RequestSide::RequestSide(Framing const& framing, Asked const& asked)
    : framing_(framing),
      state_(framing.kind == Framing::Kind::none ? RequestState::complete : RequestState::body),
      to_engine_(repeatable(framing, asked)) {}

RequestSide::Taken RequestSide::take(std::span<char> bytes, Time now, Limits const& limits) {
  Taken taken;
  if (state_ == RequestState::tunnel) {
    to_engine_.bytes().append(bytes.data(), bytes.size());
    taken.used = bytes.size();
  } else if (framing_.kind == Framing::Kind::length) {
    taken.used =
        static_cast<std::size_t>(std::min<std::uint64_t>(framing_.length - size_, bytes.size()));
    pass({bytes.data(), taken.used});
    if (size_ == framing_.length) {
      kRequestMoves.apply(state_, RequestEvent::last_byte);
    }
  } else {
    taken = take_chunks(bytes, limits);
  }
  if (state_ == RequestState::body && !pace_.took(taken.used, now, limits.silence)) {
    return refuse(408, "the body arrives too slowly");
  }
  return taken;
}

RequestSide::Taken RequestSide::take_chunks(std::span<char> bytes, Limits const& limits) {
  ChunkDecoder::Step const step = chunks_.decode(bytes);
  pass({bytes.data(), step.payload});
  if (step.state == ChunkDecoder::State::bad) {
    return refuse(
        400, "a chunk or a trailer is malformed: expected the chunked coding of RFC 9112, 7.1");
  }
  if (limits.body && size_ > *limits.body) {
    return refuse(413, "the body is too large");
  }
  if (step.state == ChunkDecoder::State::done) {
    append_last_chunk(to_engine_.bytes());
    kRequestMoves.apply(state_, RequestEvent::last_byte);
  }
  return {step.consumed, {}};
}

RequestSide::Taken RequestSide::refuse(unsigned status, std::string_view what) {
  kRequestMoves.apply(state_, RequestEvent::fault);
  return {0, {status, what}};
}

void RequestSide::pass(std::string_view payload) {
  if (payload.empty()) {
    return;
  }
  size_ += payload.size();
  if (look_) {
    look_->feed(payload);
  }
  if (framing_.kind == Framing::Kind::length) {
    to_engine_.bytes().append(payload);
  } else {
    append_chunk(to_engine_.bytes(), payload, {});
  }
}

void RequestSide::look() {
  look_ = std::make_unique<BodyLook>();
}

bool RequestSide::has_enough() const {
  return is_done() || to_engine_.size() >= kHeldBody;
}

RequestSide::Wanted RequestSide::settle() {
  Wanted wanted;
  if (std::unique_ptr<BodyLook> const look = std::move(look_)) {
    wanted = {look->model(), look->stream()};
  }
  return wanted;
}

}  // namespace lastcall::relay
