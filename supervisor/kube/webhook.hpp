// `lastcall webhook`: adds lastcall to pods for API servers that cannot do it themselves.
//
// It has two ports: TLS for the API server (POST /inject), and plain HTTP for /livez, /startupz,
// /readyz and /metrics. It keeps no state, so several replicas may run. It makes no requests to a
// cluster, unless it keeps its certificate there: then it counts as started once it has a trusted
// certificate, and serves with it even if the API server fails later. TERM or INT ends it: from
// then on it is not ready, it answers clients that have connected, and it exits with 0. As an
// engine of `lastcall run` it is taken out of service before that.
//
// Exit code 0: ended by a signal; 1: it cannot listen on a port; 2: bad usage, or a certificate, a
// pods file or a kubeconfig that cannot be used.
//
// Thread rule: main's thread; the probe listener and the upkeep of the certificate have threads of
// their own.
// Source: docs/webhook.md, 'The command'.
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
  KeptNames kept;  // without a Secret the certificate is in the files; the space is `access`'s
  AccessOptions access;

  bool keeps_certificate() const { return !kept.secret.empty(); }
};

int run_webhook(WebhookOptions const& options, config::Environment const& environment,
                std::ostream& err);

}  // namespace lastcall::kube
