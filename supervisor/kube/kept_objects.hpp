// Reads and patches the two objects in a cluster that a webhook's certificate needs: a Secret with
// the certificate, and a MutatingWebhookConfiguration (the registration) with the authorities that
// API servers trust.
//
// Rules:
//  1. A patch applies only to the object as it was read: it tests the resourceVersion.
//  2. Only data is changed. Owners, labels and everything that others have written stay.
//
// Pure, no thread rule. Source: core/v1 (kubernetes.io/tls), admissionregistration.k8s.io/v1, RFC
// 6902.
#pragma once

#include <string>

#include "supervisor/kube/json.hpp"
#include "supervisor/kube/key_pair.hpp"

namespace lastcall::kube {

struct KeptNames {
  std::string space;  // the namespace of the Secret and the Service
  std::string secret;
  std::string service;
  std::string registration;

  std::string secrets_path() const;
  std::string secret_path() const { return secrets_path() + "/" + secret; }
  std::string registration_path() const;
  /// The host name by which API servers call the Service and verify its certificate.
  std::string host() const { return service + "." + space + ".svc"; }
};

/// A Secret that Kubernetes deletes with the registration.
Json new_secret(KeptNames const& names, KeyPair const& pair, Json const& registration);
/// The Secret's key pair; its texts are empty if there is none.
KeyPair pair_of(Json const& secret);
/// Whether new_secret() made it; other Secrets are never written to.
bool is_ours(Json const& secret);
Json secret_patch(Json const& secret, KeyPair const& pair);

/// How many of the registration's webhooks call the Service.
int webhooks_of(Json const& registration, KeptNames const& names);
/// Empty if each of these webhooks already trusts exactly these authorities.
Json trust_patch(Json const& registration, KeptNames const& names, std::string const& authorities);

}  // namespace lastcall::kube
