#include "router/request_body.hpp"

#include <algorithm>

namespace lastcall::router {

using Kind = relay::Framing::Kind;

RequestBody::RequestBody(relay::Framing const& framing)
    : framing_(framing),
      state_(framing.kind == Kind::none ? State::whole : State::reads),
      left_(framing.length) {}

RequestBody::Taken RequestBody::take(std::span<char> bytes, Time now, Limits const& limits) {
  if (!pace_.took(bytes.size(), now, limits.silence)) {
    return refuse(408, "the body of the request did not come in time");
  }
  std::size_t used = 0;
  if (framing_.kind == Kind::length) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    text_.append(bytes.data(), used);
    left_ -= used;
    state_ = left_ == 0 ? State::whole : state_;
  } else {
    relay::ChunkDecoder::Step const step = chunks_.decode(bytes);
    if (step.state == relay::ChunkDecoder::State::bad) {
      return refuse(400, "the body of the request is not chunked as it says");
    }
    used = step.consumed;
    text_.append(bytes.data(), step.payload);
    state_ = step.state == relay::ChunkDecoder::State::done ? State::whole : state_;
  }
  if (text_.size() > limits.size) {
    return refuse(413, "the body of the request is too large");
  }
  return {used, {}};
}

RequestBody::Taken RequestBody::refuse(unsigned status, std::string_view what) {
  state_ = State::refused;
  forget();
  return {0, {status, what}};
}

}  // namespace lastcall::router
