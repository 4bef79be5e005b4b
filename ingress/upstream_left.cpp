// An exchange that its client has left to the engine.
#include <string_view>
#include <utility>

#include "ingress/exchange.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"
#include "relay/first_byte.hpp"

namespace lastcall::ingress {

void Upstream::outlive(std::unique_ptr<Exchange> exchange) {
  client_ = nullptr;
  left_ = std::move(exchange);
  proxy_.left_to_engine(left_->id, *this);
  left_->total.pass_to(*this);
  proxy_.deadlines().arm(deadline_, Wait::left);
  if (readable_ && !pumping_) {
    proxy_.poller().again(*this);  // what its client did not take
  }
}

/// Of the exchange that is left to it: what the engine's work has sent, see first_byte.hpp.
bool Upstream::has_begun(std::string_view bytes) {
  Exchange& x = *left_;
  x.head.append(bytes);
  while (x.response == Exchange::Response::head) {
    relay::HeadScanner::Found const found = x.head_scanner.scan(x.head);
    if (found != relay::HeadScanner::Found::complete) {
      return found == relay::HeadScanner::Found::bad || x.head.size() > kMaxResponseHead;
    }
    std::size_t const length = x.head_scanner.length();
    relay::ResponseHead head;
    if (relay::parse_response_head(std::string_view(x.head).substr(0, length), head) ||
        relay::response_framing(head, x.head_only ? "HEAD" : "", x.framing)) {
      return true;
    }
    if (head.status == 101 || head.status >= 200) {
      if (!relay::begins_with_its_body(head, x.framing, x.streaming.value_or(false))) {
        return true;
      }
      x.response = Exchange::Response::body;
    }
    x.head.erase(0, length);
    x.head_scanner.reset();
  }
  return !x.head.empty();
}

void Upstream::send_left() {
  Exchange& x = *left_;
  bool broken = false;
  x.to_engine_at += write(std::string_view(x.to_engine).substr(x.to_engine_at), broken);
  if (broken) {
    let_go();
  } else if (x.to_engine_at == x.to_engine.size()) {
    x.forget_sent();
  }
}

std::uint64_t Upstream::serial() const {
  return left_ ? left_->serial : 0;
}

void Upstream::let_go() {
  std::unique_ptr<Exchange> const ended = std::move(left_);
  close();
  proxy_.tracker().ended(ended->id, ended->outcome);
  proxy_.let_go(ended->id);
}

}  // namespace lastcall::ingress
