// An observer of connections that is interested in nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "ingress/connection_observer.hpp"

namespace lastcall::ingress {

class NoObserver : public ConnectionObserver {
 public:
  void refused(relay::Refusal const&) override {}
  void control_called(ControlCall const&) override {}
  void greeting_failed(GreetingFailed const&) override {}
  void evicted(Scarce) override {}
  void shed(Scarce) override {}
  void slow_turn(std::string_view, std::chrono::steady_clock::duration) override {}
  void connections(std::size_t, std::size_t) override {}
};

}  // namespace lastcall::ingress
