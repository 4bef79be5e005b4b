#include "router/whole_answer.hpp"

namespace lastcall::router {

using relay::ResponseState;

namespace {

constexpr unsigned kFirstFinal = 200;
constexpr unsigned kFirstRefusal = 300;

}  // namespace

WholeAnswer::State WholeAnswer::take(relay::ResponseReader& reader, std::span<char> bytes,
                                     relay::Asked const& asked) {
  while (reader.state() == ResponseState::head && !bytes.empty()) {
    relay::ReadHead read;
    if (!reader.read_head(bytes, asked, read)) {
      return reader.state() == ResponseState::malformed ? State::broken : State::reading;
    }
    status_ = read.head.status >= kFirstFinal ? read.head.status : status_;
    bytes = reader.read_on(bytes, read);
  }
  while (reader.state() == ResponseState::body && !bytes.empty()) {
    body_ += reader.read_body(bytes);
  }
  bool const is_refused = status_ >= kFirstRefusal && reader.state() == ResponseState::body;
  if (reader.state() == ResponseState::complete || is_refused) {
    return State::whole;
  }
  bool const is_bad = reader.state() == ResponseState::malformed || body_.size() > most_;
  return is_bad ? State::broken : State::reading;
}

bool WholeAnswer::ended(relay::ResponseReader& reader, bool orderly) const {
  return orderly && reader.state() == ResponseState::body &&
         reader.framing().kind == relay::Framing::Kind::until_close;
}

}  // namespace lastcall::router
