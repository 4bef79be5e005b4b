// The two objects of a cluster that a webhook's certificate is in: a Secret, which has it, and a
// MutatingWebhookConfiguration (the registration), which has the authorities that API servers
// trust. What is read of them, and the patches that change them.
//
// Rules:
//  1. Each patch holds for the object as it was read: it tests the resourceVersion.
//  2. Only data is changed. Owners, labels and whatever others have written stay.
//
// Pure, no thread rule. Source: core/v1 (kubernetes.io/tls), admissionregistration.k8s.io/v1, RFC
// 6902.
#pragma once

#include <string>

#include "supervisor/kube/json.hpp"
#include "supervisor/kube/key_pair.hpp"

namespace lastcall::kube {

struct KeptNames {
  std::string space;  // namespace of Secret and Service
  std::string secret;
  std::string service;
  std::string registration;

  std::string secrets_path() const;
  std::string secret_path() const { return secrets_path() + "/" + secret; }
  std::string registration_path() const;
  /// As API servers call the Service: this one is verified.
  std::string host() const { return service + "." + space + ".svc"; }
};

/// It goes when the registration goes.
Json new_secret(KeptNames const& names, KeyPair const& pair, Json const& registration);
/// Empty texts where it has none.
KeyPair pair_of(Json const& secret);
/// new_secret() made it. Others are never written to.
bool is_ours(Json const& secret);
Json secret_patch(Json const& secret, KeyPair const& pair);

/// How many of the registration's webhooks call the Service.
int webhooks_of(Json const& registration, KeptNames const& names);
/// Empty where each of these trusts the authorities, and nothing else, already.
Json trust_patch(Json const& registration, KeptNames const& names, std::string const& authorities);

}  // namespace lastcall::kube
