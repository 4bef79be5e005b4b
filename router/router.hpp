// The program: a front for clients, the fleet behind it, and its own end.
//
// Theory of operation. One thread has everything that a request meets: clients, workers' pools, the
// fleet. The operators' listener answers on a thread of its own from what is published to it. At
// SIGTERM readiness fails at once; new connections are accepted for `shutdown.late_accept` more,
// responses close their connections, and requests in flight go on until `shutdown.grace_period` has
// passed since the signal. Then what is left is cut, as a worker's ingress cuts it. At SIGHUP the
// configuration is read again; a configuration that is wrong, or that changes what may not change
// live, leaves the old one.
//
// Thread rule: made, run and destroyed on one thread. Source: docs/router.md.
#pragma once

#include <memory>
#include <string>

#include "router/settings.hpp"
#include "telemetry/log.hpp"

namespace lastcall::router {

class Router {
 public:
  /// `options`: the place that the settings came from, to be read again at SIGHUP.
  Router(Settings const& settings, config::LoadOptions options, runtime::Log& log);
  ~Router();
  Router(Router const&) = delete;
  Router& operator=(Router const&) = delete;

  /// Empty, or why it cannot serve.
  std::string start();
  /// Returns at its end.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lastcall::router
