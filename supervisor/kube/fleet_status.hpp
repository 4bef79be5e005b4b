// `lastcall rollout status`: what the supervisors of many pods report, through the API server's
// proxy.
//
// Rules: a pod that has the status page reports all of it; for others (in a pod it is off by
// default) the metrics give the phase, what is in flight and the deadline, but not when requests
// are cut. One that does not answer is listed all the same. Exit code 0: every pod answered; 1: one
// did not, or there is none.
//
// Thread rule: main's thread.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/kube/api_server.hpp"

namespace lastcall::kube {

/// Reads both texts of a supervisor; the metrics where there is no page.
Json status_from_metrics(std::string const& text);

int print_fleet_status(ApiServer& api, std::string const& selector, bool json, std::ostream& out,
                       std::ostream& err);

}  // namespace lastcall::kube
