#include "discovery/answer_filter.hpp"

namespace lastcall::discovery {

void AnswerFilter::take(std::span<char> bytes) {
  ready_.clear();
  dropped_ = 0;
  while (!bytes.empty() && reader_.state() == relay::ResponseState::head) {
    relay::ReadHead read;
    if (!reader_.read_head(bytes, asked_, read)) {
      return;
    }
    unsigned const status = read.head.status;
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
