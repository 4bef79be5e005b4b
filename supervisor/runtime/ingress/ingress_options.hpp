// Derives the proxy's options from the configuration, the limit of open files, and the memory
// limit.
//
// Reads those limits and nothing else. No thread rule.
#pragma once

#include "config/schema.hpp"
#include "ingress/options.hpp"
#include "ingress/tls.hpp"

namespace lastcall::runtime {

/// The options lack the engine's address, which has to be looked up.
ingress::Options ingress_options(config::Config const& config);

/// The settings of an ingress whose clients speak TLS.
ingress::TlsSettings tls_settings(config::IngressTls const& tls);

}  // namespace lastcall::runtime
