#include "router/request_body.hpp"

#include <algorithm>

namespace lastcall::router {

using Kind = relay::Framing::Kind;

RequestBody::RequestBody(relay::Framing const& framing)
    : state_(framing.kind == Kind::none ? State::whole : State::reads) {
  if (state_ == State::reads) {
    reading_ = std::make_unique<Reading>(Reading{.kind = framing.kind, .left = framing.length});
  }
}

/// It may be kept for long, so that room which an answer does not need is given back.
void RequestBody::end(State state) {
  state_ = state;
  reading_.reset();
  text_.shrink_to_fit();
}

RequestBody::Taken RequestBody::take(std::span<char> bytes, Time now, Limits const& limits) {
  if (!reading_->pace.took(bytes.size(), now, limits.silence)) {
    return refuse(408, "the body of the request did not arrive in time");
  }
  std::size_t used = 0;
  bool is_whole = false;
  if (reading_->kind == Kind::length) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(reading_->left, bytes.size()));
    text_.append(bytes.data(), used);
    reading_->left -= used;
    is_whole = reading_->left == 0;
  } else {
    relay::ChunkDecoder::Step const step = reading_->chunks.decode(bytes);
    if (step.state == relay::ChunkDecoder::State::bad) {
      return refuse(400, "the body of the request is not chunked correctly");
    }
    used = step.consumed;
    text_.append(bytes.data(), step.payload);
    is_whole = step.state == relay::ChunkDecoder::State::done;
  }
  if (text_.size() > limits.size) {
    return refuse(413, "the body of the request is too large");
  }
  if (is_whole) {
    end(State::whole);
  }
  return {used, {}};
}

RequestBody::Taken RequestBody::refuse(unsigned status, std::string_view what) {
  forget();
  end(State::refused);
  return {0, {status, what}};
}

}  // namespace lastcall::router
