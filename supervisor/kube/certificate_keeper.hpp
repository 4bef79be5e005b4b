// Keeps a webhook's certificate in a Secret, and the authorities that API servers trust in the
// webhook's registration.
//
// Rules:
//  1. Replicas agree: the Secret is the only place of the certificate, and a replica that creates
//     or changes it second uses what the first one wrote.
//  2. A certificate is served only after a look has found that it is trusted. The look that writes
//     the trust does not count, unless there is no other certificate to serve. So no pod is refused
//     because of a new certificate: API servers have had time to read the trust.
//  3. A Secret that somebody else made is used if possible, and never written to.
//
// Thread rule: one thread, which each look blocks for some calls of kCallPatience. Source:
// docs/webhook.md, 'The certificate'.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/kube/api_server.hpp"
#include "supervisor/kube/kept_objects.hpp"
#include "supervisor/kube/key_pair.hpp"

namespace lastcall::kube {

/// The result of one look at the cluster.
struct CertificateLook {
  KeyPair pair;
  bool was_trusted = false;       // before anything was written
  std::vector<std::string> done;  // what was written, for the log
  std::string problem;            // why the certificate is not kept or not trusted; may be empty
};

class CertificateKeeper {
 public:
  static constexpr std::chrono::seconds kCallPatience{5};

  /// `api` outlives this object.
  CertificateKeeper(ApiServer& api, KeptNames names) : api_(api), names_(std::move(names)) {}

  /// `now` in seconds since 1970.
  CertificateLook look(std::int64_t now);

 private:
  bool try_look(std::int64_t now, CertificateLook& look);
  KeyPair make(std::string const& before, std::int64_t now) const;
  bool create_secret(Json const& registration, std::int64_t now, CertificateLook& look);
  bool take_secret(Json const& secret, std::int64_t now, CertificateLook& look);
  bool write_secret(Json const& secret, KeyPair pair, char const* what, CertificateLook& look);
  bool trust(Json const& registration, CertificateLook& look);
  Json get(std::string const& path, bool may_be_absent) const;
  bool patch(std::string const& path, Json const& operations);
  bool is_written(Answer const& answer);

  ApiServer& api_;
  KeptNames const names_;
  std::string held_;   // the authorities of the certificate that was found last
  std::string again_;  // the answer to a write that was too late
};

}  // namespace lastcall::kube
