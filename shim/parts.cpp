#include "shim/parts.hpp"

#include <string_view>

#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "shim/spawn.hpp"
#include "shim/tree_rules.hpp"

namespace lastcall::shim {
namespace {

void append_random_id(Text& out) {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = static_cast<std::uint64_t>(to_ms(monotonic_now())) << 22 |
             static_cast<std::uint64_t>(getpid());
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    out << kHex.substr(number >> shift & 15, 1);
  }
}

}  // namespace

Parts::Parts(Options const& given, Launch& at_start, char* const* environment)
    : options(given),
      launch(at_start),
      epoll(epoll_create1(EPOLL_CLOEXEC)),
      now(monotonic_now()),
      began_at(now),
      engine(options, engine_environment(environment, options.socket)),
      service(options.serve != nullptr ? options.serve_argv : nullptr, environment),
      link(options.socket, epoll),
      clock(options.grace, options.pod_grace, options.rest_grace) {
  append_random_id(boot);
}

Situation situation(Parts const& s) {
  return {.state = s.state,
          .standing = s.link.standing(s.now),
          .start_due = s.began_at + s.options.supervisor_timeout,
          .engine_started = s.engine.fate().started,
          .has_service = s.service.exists(),
          .engine_ended_at = s.end.at(),
          .engine_ordered = s.engine.facts().ordered,
          .tree_ended_at = s.end.tree_ended_at()};
}

}  // namespace lastcall::shim
