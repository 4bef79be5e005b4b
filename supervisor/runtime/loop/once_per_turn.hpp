// A function that is called once, at the end of the loop's turn, however often it was asked for.
//
// Thread rule: the loop's thread. It must outlive the loop's turns.
#pragma once

#include <functional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace lastcall::runtime {

class OncePerTurn {
 public:
  OncePerTurn(boost::asio::io_context& io, std::function<void()> run)
      : io_(io), run_(std::move(run)) {}

  void request() {
    if (!std::exchange(is_due_, true)) {
      boost::asio::post(io_, [this] {
        is_due_ = false;
        run_();
      });
    }
  }
  void run_now() {
    is_due_ = false;
    run_();
  }

 private:
  boost::asio::io_context& io_;
  std::function<void()> const run_;
  bool is_due_ = false;
};

}  // namespace lastcall::runtime
