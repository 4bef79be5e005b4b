// `lastcall rollout status`: shows what the supervisors of many pods report, through the API
// server's proxy.
//
// Rules: for a pod that has the status page, all of its document is shown. For others (in a pod the
// page is off by default) the metrics give the phase, the requests in flight and the deadline, but
// not when requests are cut. A pod that does not answer is also listed. Exit code 0: every pod
// answered; 1: one did not, or there is none.
//
// Thread rule: main's thread.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/kube/api_server.hpp"

namespace lastcall::kube {

/// Makes a row from the text of a supervisor's metrics, for a pod without the page.
Json status_from_metrics(std::string const& text);

int print_fleet_status(ApiServer& api, std::string const& selector, bool json, std::ostream& out,
                       std::ostream& err);

}  // namespace lastcall::kube
