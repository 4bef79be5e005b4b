// The facts that a container in a cluster has about its API server.
//
// No thread rule. Source: Kubernetes, 'Accessing the API from within a Pod'.
#pragma once

#include <string>

#include "config/environment.hpp"

namespace lastcall::discovery {

/// From KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT; empty outside a cluster.
std::string api_server_url(config::Environment const& environment);

/// POD_NAMESPACE, else the namespace file next to the token; empty if there is neither.
std::string own_namespace(config::Environment const& environment, std::string const& token_file);

}  // namespace lastcall::discovery
