// Rows of the ingress.
#include <array>
#include <string_view>

#include "config/keys.hpp"
#include "config/keys_bind.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;

constexpr Range kIngressPort{0, 65'535};
constexpr Range kWait = within(1ms, 24h);

void add_timeouts(Keys& keys, IngressTimeouts& timeouts) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.timeouts", .slot = Section{}, .doc = "How long it waits for what."},
       {.path = "ingress.timeouts.connect",
        .slot = &timeouts.connect,
        .doc = "For a connection to the engine.",
        .range = kWait},
       {.path = "ingress.timeouts.first_byte",
        .slot = &timeouts.first_byte,
        .doc = "For the first byte of the engine's response (of a stream: of its body), once it "
               "has the request or is to take more of it.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "ingress.timeouts.idle",
        .slot = &timeouts.idle,
        .doc = "For the next bytes behind the first one, which has a limit of its own; of an "
               "upgraded connection, of either side.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "ingress.timeouts.total",
        .slot = &timeouts.total,
        .doc = "From the connection to the engine to the last byte of its response.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "ingress.timeouts.client",
        .slot = &timeouts.client,
        .doc = "For a client's whole head, for the next part of its body, and until it takes what "
               "waits for it; and how far a body may fall behind 1 byte a millisecond.",
        .range = kWait},
       {.path = "ingress.timeouts.keep_alive",
        .slot = &timeouts.keep_alive,
        .doc = "For the next request of a client's connection.",
        .range = kWait},
       {.path = "ingress.timeouts.upstream_keep_alive",
        .slot = &timeouts.upstream_keep_alive,
        .doc = "How long an unused connection to the engine is kept; keep it below the "
               "engine's own limit (5 s in uvicorn).",
        .range = kWait}});
}

void add_limits(Keys& keys, Ingress& ingress) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.max_header_size",
        .slot = &ingress.max_header_size,
        .doc = "Bytes of a request's head; a larger one is refused with 431. Its target has at "
               "most 8192 "
               "of them, else it is a 414, and its lines are at most 128.",
        .range = Range{1'024, 1'048'576}},
       {.path = "ingress.max_body_size",
        .slot = &ingress.max_body_size,
        .doc = "Bytes of a request's body; a larger one is refused with 413.",
        .range = Range{1, 1'000'000'000'000},
        .unset = "no limit"},
       {.path = "ingress.max_connections",
        .slot = &ingress.max_connections,
        .doc = "Clients at a time, as far as the limit of open files allows. For one more the one "
               "closes that has been without a request for longest; where all have one, it is "
               "refused.",
        .range = Range{1, 1'000'000}},
       {.path = "ingress.max_connections_per_address",
        .slot = &ingress.max_connections_per_address,
        .doc =
            "Connections of one address at a time; one more is refused. Behind a load balancer, a "
            "router or a node's NAT all clients have one address.",
        .range = Range{1, 1'000'000},
        .unset = "no limit"},
       {.path = "ingress.max_buffer_memory",
        .slot = &ingress.max_buffer_memory,
        .doc = "Bytes that the buffers of all connections may hold. From three quarters on new "
               "requests are refused as `overloaded`, above it connections are closed that hold "
               "much and are slow.",
        .range = Range{1'048'576, 1'000'000'000'000},
        .unset = "half of the cgroup's memory limit, at most 1 GiB; 1 GiB without a limit"},
       {.path = "ingress.threads",
        .slot = &ingress.threads,
        .doc =
            "Threads that relay. One is the supervisor's own, and enough for one engine; more are "
            "threads beside it, for what one core cannot relay.",
        .range = Range{1, 64}}});
}

void add_forwarding(Keys& keys, Ingress& ingress) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.trusted_proxies",
        .slot = &ingress.trusted_proxies,
        .doc = "Whose `X-Forwarded-*`, `X-Real-IP` and `Forwarded` are kept and extended; those of "
               "anybody else are replaced. The default is what clusters give to pods and nodes: "
               "private, shared and link-local addresses. `[]` trusts nobody; "
               "`[\"0.0.0.0/0\", \"::/0\"]` everybody (see `docs/ingress.md`).",
        .form = &kNetwork},
       {.path = "ingress.underscores_in_headers",
        .slot = &ingress.underscores_in_headers,
        .doc = "Whether fields of requests whose names have an underscore reach the engine; "
               "`false` drops them, because many servers take `X_User` for `X-User`."}});
}

constexpr std::array kVersionNames = std::to_array<std::string_view>({"TLSv1.2", "TLSv1.3"});
constexpr std::array kCertificateNames = std::to_array<std::string_view>({"required", "optional"});

void add_tls(Keys& keys, IngressTls& tls) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.tls",
        .slot = Section{},
        .doc = "TLS for its clients. Changed files are read again before the next connection."},
       {.path = "ingress.tls.cert_file",
        .slot = &tls.cert_file,
        .doc = "File with the certificate and its chain, PEM.",
        .form = &kAbsolutePath,
        .unset = "clients speak plain HTTP"},
       {.path = "ingress.tls.key_file",
        .slot = &tls.key_file,
        .doc = "File with the certificate's key, PEM, without a passphrase.",
        .form = &kAbsolutePath,
        .unset = "clients speak plain HTTP"},
       {.path = "ingress.tls.min_version",
        .slot = choice(tls.min_version, kVersionNames),
        .doc = "The oldest version that a client may speak."},
       {.path = "ingress.tls.ciphers",
        .slot = &tls.ciphers,
        .doc = "What a connection may be encrypted with; the first that a client also offers is "
               "taken. Every one has forward secrecy. Names with `TLS_` are those of TLS 1.3, and "
               "a version without any is not spoken.",
        .form = &kCipher},
       {.path = "ingress.tls.client_ca_file",
        .slot = &tls.client_ca_file,
        .doc = "File with the authorities that sign clients' certificates, PEM.",
        .form = &kAbsolutePath,
        .unset = "clients are not asked for a certificate"},
       {.path = "ingress.tls.client_certificates",
        .slot = choice(tls.client_certificates, kCertificateNames),
        .doc = "Whether a client without a certificate is refused or let in; one whose certificate "
               "`client_ca_file` does not vouch for is refused either way."}});
}

constexpr std::array kAccessNames =
    std::to_array<std::string_view>({"relay", "operators", "refuse"});

void add_control_paths(Keys& keys, ControlPaths& control) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.control_paths",
        .slot = Section{},
        .doc = "Paths of the engine's server that control it instead of asking it for work; the "
               "preset of `engine.kind` knows which ([engines.md](engines.md#control-paths))."},
       {.path = "ingress.control_paths.access",
        .slot = choice(control.access, kAccessNames),
        .doc = "Of those that change the engine (sleep, aborts, caches, weights, adapters, the "
               "profiler): relayed, relayed for operators only, or refused with 403."},
       {.path = "ingress.control_paths.status_access",
        .slot = choice(control.status_access, kAccessNames),
        .doc = "The same of those that only tell about it (health, metrics, load, versions)."},
       {.path = "ingress.control_paths.token",
        .slot = &control.token,
        .doc = "What an operator's request carries in the header `X-Lastcall-Token`, which the "
               "engine never sees.",
        .form = &kToken,
        .unset = "nobody is an operator by a token",
        .env = "LASTCALL_INGRESS_TOKEN",
        .secret = true},
       {.path = "ingress.control_paths.certificates",
        .slot = &control.certificates,
        .doc = "Names of client certificates whose holders are operators: a DNS name, a URI or an "
               "e-mail address of the certificate, or its common name where it has none of these; "
               "needs `ingress.tls.client_ca_file`.",
        .form = &kCertificateName},
       {.path = "ingress.control_paths.paths",
        .slot = items(control.paths),
        .doc = "More of them, and exceptions: the longest path that fits decides, before one of "
               "the preset's of the same length."}});
}

}  // namespace

void add_ingress_keys(Keys& keys, Ingress& ingress) {
  keys.insert(
      keys.end(),
      {{.path = "ingress",
        .slot = Section{&ingress.enabled},
        .doc =
            "The HTTP proxy in front of an unmodified engine; on when this section is there, and "
            "`ingress: {}` is enough, but not `ingress:` alone."},
       {.path = "ingress.enabled",
        .slot = &ingress.enabled,
        .doc = "On when this section is there; `false` switches it off all the same."},
       {.path = "ingress.listen",
        .slot = &ingress.listen,
        .doc = "Where clients connect; port 0 takes a free one.",
        .range = kIngressPort,
        .local = true},
       {.path = "ingress.upstream",
        .slot = &ingress.upstream,
        .doc = "The engine's address, or its Unix socket.",
        .form = &kUpstream,
        .unset = "the preset's (127.0.0.1:8000, sglang 127.0.0.1:30000)"},
       {.path = "ingress.exclusive",
        .slot = &ingress.exclusive,
        .doc = "Nothing reaches the engine but through the ingress: what it has in flight is all "
               "there "
               "is, from the first moment on.",
        .unset = "true where the upstream is a loopback address or a Unix socket"}});
  add_tls(keys, ingress.tls);
  add_limits(keys, ingress);
  add_forwarding(keys, ingress);
  add_control_paths(keys, ingress.control_paths);
  add_timeouts(keys, ingress.timeouts);
}

Keys keys_of(ControlRule& rule) {
  return {{.path = "path",
           .slot = &rule.path,
           .doc = "It and all below it; with a `*` at its end, all that begin so.",
           .form = &kControlPath,
           .required = true},
          {.path = "access",
           .slot = choice(rule.access, kAccessNames),
           .doc = "Whose requests are relayed."}};
}

}  // namespace lastcall::config
