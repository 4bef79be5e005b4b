// A function that is called once, in the next turn of a loop, however often it was asked for.
//
// `post(loop, call)`, which is found where it is used (by argument-dependent lookup), has to run
// `call` in a later turn; Asio's does. A turn that was posted may outlive this object.
//
// Thread rule: the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace lastcall {

template <typename Loop>
class OncePerTurn {
 public:
  OncePerTurn(Loop& loop, std::function<void()> run) : loop_(loop), run_(std::move(run)) {}
  OncePerTurn(OncePerTurn const&) = delete;
  OncePerTurn& operator=(OncePerTurn const&) = delete;
  ~OncePerTurn() { *alive_ = false; }

  void request() {
    if (!std::exchange(is_due_, true)) {
      post(loop_, [this, alive = alive_] {
        if (*alive) {
          run_now();
        }
      });
    }
  }
  /// A call that was requested before is still made.
  void run_now() {
    is_due_ = false;
    run_();
  }
  bool is_due() const { return is_due_; }

 private:
  Loop& loop_;
  std::function<void()> const run_;
  bool is_due_ = false;
  std::shared_ptr<bool> const alive_ = std::make_shared<bool>(true);
};

}  // namespace lastcall
