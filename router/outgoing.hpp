// A request on its way to a worker: its head, its body, and how much of them was sent. Bytes that
// were sent are no longer held.
//
// Thread rule: the router's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ingress/upstream.hpp"

namespace lastcall::router {

class Outgoing {
 public:
  /// `head` lacks the content length and the final empty line. `body` outlives this; if `own` is
  /// not empty, it is sent instead.
  Outgoing(std::string head, std::string_view body, std::string own)
      : left_(std::make_unique<Left>()) {
    body = own.empty() ? body : std::string_view(own);
    left_->first = std::move(head);
    left_->first.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
    if (body.size() <= kSmallBody) {
      left_->first.append(body);
    } else {
      left_->own = std::move(own);
      left_->apart = left_->own.empty() ? body : std::string_view(left_->own);
    }
  }

  /// Sends as much as the worker accepts now. If the connection is broken, the bytes that it still
  /// holds are read first, and then its end is handled.
  void write_to(ingress::Upstream& connection) {
    while (left_) {
      std::size_t const first = left_->first.size();
      std::string_view const left = left_->sent < first
                                        ? std::string_view(left_->first).substr(left_->sent)
                                        : left_->apart.substr(left_->sent - first);
      bool broken = false;
      std::size_t const put = connection.write(left, broken);
      left_->sent += put;
      if (broken || put < left.size()) {
        return;
      }
      if (left_->sent == first + left_->apart.size()) {
        left_.reset();
      }
    }
  }
  bool has_begun() const { return !left_ || left_->sent > 0; }
  bool is_all_out() const { return left_ == nullptr; }
  /// The number of bytes that it owns.
  std::size_t capacity() const {
    return left_ ? left_->first.capacity() + left_->own.capacity() : 0;
  }

 private:
  /// A body up to this size is sent together with its head, in one call.
  static constexpr std::size_t kSmallBody = std::size_t{16} * 1024;

  struct Left {
    std::string first;       // the head, and the body if that is small
    std::string own;         // a larger body that this owns
    std::string_view apart;  // a view of `own`, or of a body that somebody else owns
    std::size_t sent = 0;
  };
  std::unique_ptr<Left> left_;  // absent when everything has been sent
};

}  // namespace lastcall::router
