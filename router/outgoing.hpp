// A request on its way to a worker: its head, its body, and how much of them is out. What is out is
// not held any more.
//
// Thread rule: the router's thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "ingress/upstream.hpp"

namespace lastcall::router {

class Outgoing {
 public:
  /// `head`: without its length and its last line; `body` outlives it.
  Outgoing(std::string head, std::string_view body) : out_(std::move(head)) {
    out_.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
    if (body.size() <= kSmallBody) {
      out_.append(body);
    } else {
      apart_ = body;
    }
  }

  /// As much as the worker takes now. What a broken connection still holds is read, and then its
  /// end.
  void write_to(ingress::Upstream& connection) {
    while (!is_all_out()) {
      std::string_view const left = sent_ < out_.size() ? std::string_view(out_).substr(sent_)
                                                        : apart_.substr(sent_ - out_.size());
      bool broken = false;
      std::size_t const put = connection.write(left, broken);
      sent_ += put;
      if (broken || put < left.size()) {
        return;
      }
      if (sent_ == out_.size() + apart_.size()) {
        std::string().swap(out_);
      }
    }
  }
  bool has_begun() const { return sent_ > 0; }
  bool is_all_out() const { return out_.empty(); }

 private:
  /// A body up to this size goes with its head, in one call.
  static constexpr std::size_t kSmallBody = std::size_t{16} * 1024;

  std::string out_;  // the head, and the body where that is small; empty: all is out
  std::string_view apart_;
  std::size_t sent_ = 0;
};

}  // namespace lastcall::router
