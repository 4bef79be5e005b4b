// `lastcall webhook`: puts lastcall into pods for API servers that cannot do it themselves.
//
// Two ports: TLS for the API server (POST /inject), plain HTTP for /livez, /startupz, /readyz and
// /metrics. It keeps no state; several may run. It knows no cluster, unless it keeps its
// certificate there: then it has started once it has one that is trusted, and serves that whatever
// becomes of the API server. TERM or INT ends it: it is not ready from then on, answers clients
// that have connected, and exits with 0. As an engine of `lastcall run` it is taken out of service
// before that.
//
// Exit code 0: ended by a signal; 1: it cannot listen on a port; 2: bad usage, or a certificate, a
// file of pods or a kubeconfig that cannot be used.
//
// Thread rule: main's thread; the listener of probes and the upkeep of the certificate have their
// own.
// Source: docs/injection.md, 'By a webhook'.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/kube/access.hpp"
#include "supervisor/kube/kept_objects.hpp"
#include "supervisor/kube/review.hpp"

namespace lastcall::kube {

struct WebhookOptions {
  std::string listen = "[::]:8443";
  std::string probes = "[::]:8081";
  std::string certificate = "/etc/lastcall/tls/tls.crt";
  std::string key = "/etc/lastcall/tls/tls.key";
  std::string pods;  // a file; empty: the defaults
  ReviewSettings review;
  KeptNames kept;  // the space is that of `access`; no Secret: the certificate is in the files
  AccessOptions access;

  bool keeps_certificate() const { return !kept.secret.empty(); }
};

int run_webhook(WebhookOptions const& options, config::Environment const& environment,
                std::ostream& err);

}  // namespace lastcall::kube
