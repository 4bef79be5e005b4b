// The address of an API server and the user for it, from kubectl's configuration or from a pod's
// own service account.
//
// Rules:
//  1. The files of $KUBECONFIG (or --kubeconfig, or ~/.kube/config) are read as kubectl does: if
//     several have an entry, the first one counts. Without any file, a pod's service account is
//     used.
//  2. An unsupported setting is refused by its name and never ignored: a proxy, a server name for
//     TLS, an auth provider, a password.
//  3. Certificates that are in the file itself are passed on in anonymous files of this process.
//  4. A plugin (`exec`) is run when its credential is first needed, and again when the credential
//     was refused.
//
// Thread rule: main's thread. Source: client-go's kubeconfig, ExecCredential v1 and v1beta1.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/environment.hpp"
#include "discovery/http_client.hpp"

namespace lastcall::kube {

struct AccessOptions {
  std::string kubeconfig;  // empty: $KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  std::string space;       // namespace; empty: the context's, else `default`
};

/// A program that prints a credential.
struct CredentialPlugin {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // NAME=VALUE, in addition to ours
  std::string api_version;
};

struct Access {
  discovery::HttpServer server;
  discovery::HttpTls tls;
  std::string space;
  std::string token;
  std::string token_file;  // read again for each request
  std::optional<CredentialPlugin> plugin;
};

/// The reason why there is no access, with its place.
struct NoAccess {
  std::string text;
};

std::variant<Access, NoAccess> find_access(AccessOptions const& options,
                                           config::Environment const& environment);

/// Runs the plugin and stores its token or certificate in `access`; returns why it cannot.
std::string refresh(Access& access);

}  // namespace lastcall::kube
