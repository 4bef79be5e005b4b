#include "router/request_body.hpp"

#include <algorithm>
#include <new>

namespace lastcall::router {

using Kind = relay::Framing::Kind;

RequestBody::RequestBody(relay::Framing const& framing)
    : state_(framing.kind == Kind::none ? State::whole : State::reads) {
  if (state_ == State::reads) {
    reading_ = std::make_unique<Reading>(Reading{.kind = framing.kind, .left = framing.length});
  }
}

RequestBody::Taken RequestBody::take(std::span<char> bytes, Time now, Limits const& limits) {
  try {
    return read(bytes, now, limits);
  } catch (std::bad_alloc const&) {
    return refuse(kNoMemory, "there is no memory for the body of the request");
  }
}

RequestBody::Taken RequestBody::read(std::span<char> bytes, Time now, Limits const& limits) {
  if (!reading_->pace.took(bytes.size(), now, limits.silence)) {
    return refuse(408, "the body of the request did not arrive in time");
  }
  std::string& text = reading_->text;
  std::size_t used = 0;
  bool is_whole = false;
  if (reading_->kind == Kind::length) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(reading_->left, bytes.size()));
    text.append(bytes.data(), used);
    reading_->left -= used;
    is_whole = reading_->left == 0;
  } else {
    relay::ChunkDecoder::Step const step = reading_->chunks.decode(bytes);
    if (step.state == relay::ChunkDecoder::State::bad) {
      return refuse(400, "the body of the request is not chunked correctly");
    }
    used = step.consumed;
    text.append(bytes.data(), step.payload);
    is_whole = step.state == relay::ChunkDecoder::State::done;
  }
  if (text.size() > limits.size) {
    return refuse(413, "the body of the request is too large");
  }
  if (is_whole) {
    text_ = CompactText(text);
    state_ = State::whole;
    reading_.reset();
  }
  return {used, {}};
}

RequestBody::Taken RequestBody::refuse(unsigned status, std::string_view what) {
  state_ = State::refused;
  reading_.reset();
  return {0, {status, what}};
}

}  // namespace lastcall::router
