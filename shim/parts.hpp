// Everything that the shim knows, in separate parts.
//
// Rules: 1. a part knows only its own subject; their joint meaning is in the rules: signals.hpp,
// children.hpp, orders.hpp, actions.hpp, tree_rules.hpp, leaving.hpp; 2. the state has one writer,
// happen() (give_up() for a start that failed). Thread rule: there is one thread.
#pragma once

#include <cstdint>

#include "shim/deadline_rules.hpp"
#include "shim/departure.hpp"
#include "shim/engine.hpp"
#include "shim/engine_end.hpp"
#include "shim/launch.hpp"
#include "shim/link.hpp"
#include "shim/link_news.hpp"
#include "shim/options.hpp"
#include "shim/recent_death.hpp"
#include "shim/rest_of_tree.hpp"
#include "shim/revival.hpp"
#include "shim/service.hpp"
#include "shim/state_table.hpp"
#include "shim/stop_order.hpp"
#include "shim/tree_watch.hpp"
#include "shim/vigil.hpp"
#include "shim/will.hpp"

namespace lastcall::shim {

struct Parts {
  Parts(Options const& given, Launch& at_start, char* const* environment);

  Options const& options;
  Launch& launch;
  int epoll;
  Instant now;
  Instant const began_at;

  // The process that the shim started, and the peer that sends orders.
  Engine engine;
  Service service;
  Vigil vigil;
  Revival revival;
  Link link;
  LinkNews link_news;

  // A stop.
  State state = State::waiting;
  StopClock clock;
  StopOrder stop;
  EngineEnd end;
  Departure departure;

  // The command's descendants.
  TreeWatch watch;
  RecentDeath first_death;
  RestOfTree rest;
  std::int64_t orphans_reaped = 0;

  // The memory that the supervisor keeps with the shim.
  Will will;
  TextOf<kLargestRawBlob> blob;
  TextOf<17> boot;
};

/// The facts that the rules of time use.
Situation situation(Parts const& s);

}  // namespace lastcall::shim
