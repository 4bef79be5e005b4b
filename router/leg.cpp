#include "router/leg.hpp"

namespace lastcall::router {
namespace {

/// A body up to this size goes with its head, in one call.
constexpr std::size_t kSmallBody = std::size_t{16} * 1024;

}  // namespace

void Leg::begin(std::string_view head, std::string_view body) {
  out_.assign(head);
  out_.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
  if (body.size() <= kSmallBody) {
    out_.append(body);
  } else {
    apart_ = body;
  }
  send();
}

void Leg::send() {
  while (!was_all_sent()) {
    std::string_view const unsent = sent_ < out_.size() ? std::string_view(out_).substr(sent_)
                                                        : apart_.substr(sent_ - out_.size());
    bool broken = false;
    std::size_t const put = connection_.write(unsent, broken);
    sent_ += put;
    if (broken || put < unsent.size()) {
      return;
    }
  }
}

}  // namespace lastcall::router
