// The callbacks that wait until a request is stopped or killed.
//
// Rules:
//  1. Each is called at most once; the caller takes it out under the lock and calls it without.
//  2. What is taken or removed is returned: its destruction may run the program's code, which must
//     not happen under the lock.
//
// Thread rule: under the TreeLock. Source: RequestContext::on_stop().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <lastcall/request_context.hpp>

#include "sdk/cpp/cancellation.hpp"

namespace lastcall::sdk {

class Subscribers {
 public:
  using Callback = RequestContext::Callback;

  void add(RequestContext::CallbackId id, Level level, Callback callback);
  /// Takes out those that wait for `level` or a lower one, in the order in which they were added.
  std::vector<Callback> take(Level level);
  std::optional<Callback> remove(RequestContext::CallbackId id);

 private:
  struct Subscriber {
    RequestContext::CallbackId id;
    Level level;
    Callback callback;
  };

  std::vector<Subscriber> waiting_;
};

}  // namespace lastcall::sdk
