// A request on one connection to a worker.
//
// Thread rule: the router's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ingress/upstream.hpp"
#include "relay/response_reader.hpp"
#include "router/fleet.hpp"

namespace lastcall::router {

class Leg {
 public:
  /// `connection` is given back by whoever made the leg.
  Leg(std::shared_ptr<Worker> worker, ingress::Upstream& connection)
      : worker_(std::move(worker)), connection_(connection) {}

  std::shared_ptr<Worker> const& worker() const { return worker_; }
  ingress::Upstream& connection() { return connection_; }
  relay::ResponseReader& reader() { return reader_; }
  std::size_t capacity() const { return out_.capacity(); }

  /// `head`: without its length and its last line; `body` outlives the leg.
  void begin(std::string_view head, std::string_view body);
  /// As much as the worker takes now. What a broken connection still says is read, and then its
  /// end.
  void send();
  bool was_sent() const { return sent_ > 0; }
  bool was_all_sent() const { return sent_ == out_.size() + apart_.size(); }

 private:
  std::shared_ptr<Worker> const worker_;
  ingress::Upstream& connection_;
  relay::ResponseReader reader_;
  std::string out_;  // the head, and the body where that is small
  std::string_view apart_;
  std::size_t sent_ = 0;
};

}  // namespace lastcall::router
