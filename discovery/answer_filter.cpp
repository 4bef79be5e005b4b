#include "discovery/answer_filter.hpp"

#include "base/parse_number.hpp"

namespace lastcall::discovery {

namespace {

/// A server that is overloaded or restarts states when to come again; in other answers the field
/// has other meanings.
std::chrono::seconds retry_after_of(relay::ResponseHead const& head) {
  constexpr unsigned kTooManyRequests = 429;
  constexpr unsigned kUnavailable = 503;
  constexpr unsigned kLongest = 24 * 60 * 60;
  std::string_view value;
  if ((head.status != kTooManyRequests && head.status != kUnavailable) ||
      head.fields.count("retry-after", value) != 1) {
    return {};
  }
  auto const seconds = parse_number<unsigned>(value);
  return std::chrono::seconds(seconds && *seconds <= kLongest ? *seconds : 0);
}

}  // namespace

void AnswerFilter::take(std::span<char> bytes) {
  ready_.clear();
  dropped_ = 0;
  while (!bytes.empty() && reader_.state() == relay::ResponseState::head) {
    relay::ReadHead read;
    if (!reader_.read_head(bytes, asked_, read)) {
      return;
    }
    unsigned const status = read.head.status;
    retry_after_ = retry_after_of(read.head);
    bytes = reader_.read_on(bytes, read);
    if (reader_.state() != relay::ResponseState::head) {
      ready_ = "HTTP/1.1 " + std::to_string(status) + " OK\r\n\r\n";
    }
  }
  while (!bytes.empty() && reader_.state() == relay::ResponseState::body) {
    ready_ += reader_.read_body(bytes);
  }
  if (!bytes.empty()) {
    reader_.spoil();
  }
}

void AnswerFilter::end() {
  bool const is_its_end = reader_.state() == relay::ResponseState::body &&
                          reader_.framing().kind == relay::Framing::Kind::until_close;
  if (is_its_end) {
    reader_.end();
    reader_.spoil();
  }
}

}  // namespace lastcall::discovery
