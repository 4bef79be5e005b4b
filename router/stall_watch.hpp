// Runs silences.hpp with one timer for all workers.
//
// Rule: if the timer fires much too late, the router itself has hung (its process or its
// host was stopped) and has not read what streams sent meanwhile, so it reads first and checks
// afterwards.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "router/silences.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class StallWatch {
 public:
  /// `stall` is absent if workers are never considered stalled.
  StallWatch(boost::asio::io_context& io, std::optional<Time> stall);
  ~StallWatch();

  void enter(SilentStream& stream, std::shared_ptr<Worker> const& worker);
  void leave(SilentStream& stream) { silences_.leave(stream); }
  void stays(SilentStream& stream);

 private:
  struct Timer;

  void aim(Time soonest);
  void look();

  std::optional<Time> const stall_;
  Silences silences_;
  std::unique_ptr<Timer> timer_;
  std::optional<Time> aimed_at_;
};

}  // namespace lastcall::router
