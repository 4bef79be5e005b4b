// `lastcall webhook`: puts lastcall into pods for API servers that cannot do it themselves.
//
// Two ports: TLS for the API server (POST /inject), plain HTTP for /livez, /readyz and /metrics. It
// keeps no state and knows no cluster; several may run. TERM or INT ends it: it is not ready from
// then on, answers clients that have connected, and exits with 0. As an engine of `lastcall run` it
// is taken out of service before that.
//
// Exit code 0: ended by a signal; 1: it cannot listen on a port; 2: bad usage, or a certificate or
// a file of pods that cannot be used.
//
// Thread rule: main's thread; the listener of probes has its own. Source: docs/injection.md, 'By a
// webhook'.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/kube/review.hpp"

namespace lastcall::kube {

struct WebhookOptions {
  std::string listen = "[::]:8443";
  std::string probes = "[::]:8081";
  std::string certificate = "/etc/lastcall/tls/tls.crt";
  std::string key = "/etc/lastcall/tls/tls.key";
  std::string pods;  // a file; empty: the defaults
  ReviewSettings review;
};

int run_webhook(WebhookOptions const& options, std::ostream& err);

}  // namespace lastcall::kube
