// The program: a front for clients, the fleet behind it, and its own shutdown.
//
// Theory of operation. One thread owns everything that a request uses: clients, workers' pools, and
// the fleet. The operators' listener answers on a thread of its own from published state. At
// SIGTERM readiness fails at once; new connections are accepted for another `shutdown.late_accept`,
// responses close their connections, and requests in flight continue until `shutdown.grace_period`
// has passed since the signal. Then those that remain are cut, as a worker's ingress would cut
// them. At SIGHUP the configuration is read again; if it has errors or changes keys that are not
// live, the old one stays in force.
//
// Thread rule: constructed, run and destroyed on one thread. Source: docs/router.md.
#pragma once

#include <memory>
#include <string>

#include "router/settings.hpp"
#include "telemetry/log.hpp"

namespace lastcall::router {

class Router {
 public:
  /// `options` describe where the settings were read from; SIGHUP reads them again from there.
  Router(Settings const& settings, config::LoadOptions options, telemetry::Log& log);
  ~Router();
  Router(Router const&) = delete;
  Router& operator=(Router const&) = delete;

  /// Returns an empty text, or the reason why the router cannot serve.
  std::string start();
  /// Runs until the shutdown is complete.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lastcall::router
