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

void add_timeouts(Keys& keys, ProxyTimeouts& timeouts) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.timeouts", .slot = Section{}, .doc = "How long the ingress waits."},
       {.path = "ingress.timeouts.connect",
        .slot = &timeouts.connect,
        .doc = "Longest wait for a connection to the engine.",
        .range = kWait},
       {.path = "ingress.timeouts.first_byte",
        .slot = &timeouts.first_byte,
        .doc = "Longest wait for the first byte of the engine's response (of a stream, of its "
               "body), from the time at which the engine has the request or should read more of "
               "it.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "ingress.timeouts.idle",
        .slot = &timeouts.idle,
        .doc = "Longest wait for further bytes after the first one, which has a limit of its "
               "own; on an upgraded connection, from either side.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "ingress.timeouts.total",
        .slot = &timeouts.total,
        .doc = "Longest time from the connection to the engine to the last byte of its response.",
        .range = kWait,
        .unset = "no limit"},
       {.path = "ingress.timeouts.client",
        .slot = &timeouts.client,
        .doc = "Longest wait for the whole head of a client's request, for the next part of its "
               "body, and for the client to read what was sent; and how far a body may fall "
               "behind a rate of 1 byte per millisecond.",
        .range = kWait},
       {.path = "ingress.timeouts.keep_alive",
        .slot = &timeouts.keep_alive,
        .doc = "Longest wait for the next request on a client's connection.",
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
        .doc = "Largest head of a request in bytes; a larger one is refused with 431. A target "
               "of more than 8192 bytes is refused with 414, and a head has at most 128 lines.",
        .range = Range{1'024, 1'048'576}},
       {.path = "ingress.max_body_size",
        .slot = &ingress.max_body_size,
        .doc = "Largest body of a request in bytes; a larger one is refused with 413.",
        .range = Range{1, 1'000'000'000'000},
        .unset = "no limit"},
       {.path = "ingress.max_connections",
        .slot = &ingress.max_connections,
        .doc = "Client connections at a time, as far as the limit of open files allows. A "
               "further one replaces the connection that has been idle for longest; if all have "
               "a request, it is refused.",
        .range = Range{1, 1'000'000}},
       {.path = "ingress.max_connections_per_address",
        .slot = &ingress.max_connections_per_address,
        .doc = "Connections from one address at a time; a further one is refused. Note that all "
               "clients share one address behind a load balancer, a router or a node's NAT.",
        .range = Range{1, 1'000'000},
        .unset = "no limit"},
       {.path = "ingress.max_buffer_memory",
        .slot = &ingress.max_buffer_memory,
        .doc = "Bytes that the buffers of all connections may hold. Above three quarters of it, "
               "new requests are refused as `overloaded`; above all of it, slow connections that "
               "hold much are closed.",
        .range = Range{1'048'576, 1'000'000'000'000},
        .unset = "half of the cgroup's memory limit, at most 1 GiB; 1 GiB without a limit"},
       {.path = "ingress.threads",
        .slot = &ingress.threads,
        .doc = "Threads that relay. One thread is the supervisor's own, and enough for one engine; "
               "further threads are for loads that one core cannot relay.",
        .range = Range{1, 64}}});
}

void add_forwarding(Keys& keys, Ingress& ingress) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.trusted_proxies",
        .slot = &ingress.trusted_proxies,
        .doc = "Networks of proxies whose `X-Forwarded-*`, `X-Real-IP` and `Forwarded` are kept "
               "and extended; those of anybody else are replaced. The default has the addresses "
               "that clusters give to pods and nodes: private, shared and link-local ones. `[]` "
               "trusts nobody, and `[\"0.0.0.0/0\", \"::/0\"]` trusts everybody (see "
               "`docs/ingress.md`).",
        .form = &kNetwork},
       {.path = "ingress.underscores_in_headers",
        .slot = &ingress.underscores_in_headers,
        .doc = "Whether request headers with an underscore in their names reach the engine; "
               "`false` drops them, because many servers read `X_User` as `X-User`."}});
}

constexpr std::array kVersionNames = std::to_array<std::string_view>({"TLSv1.2", "TLSv1.3"});
constexpr std::array kCertificateNames = std::to_array<std::string_view>({"required", "optional"});

void add_tls(Keys& keys, IngressTls& tls) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.tls",
        .slot = Section{},
        .doc = "TLS for the ingress's clients. Changed files are read again before the next "
               "connection."},
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
        .doc = "Oldest version of TLS that is accepted."},
       {.path = "ingress.tls.ciphers",
        .slot = &tls.ciphers,
        .doc = "Ciphers in the order of preference; the first one that a client also offers is "
               "used. All of them have forward secrecy. Names that begin with `TLS_` belong to "
               "TLS 1.3, and a version without a cipher is disabled.",
        .form = &kCipher},
       {.path = "ingress.tls.client_ca_file",
        .slot = &tls.client_ca_file,
        .doc = "File with the certificate authorities that sign clients' certificates, PEM.",
        .form = &kAbsolutePath,
        .unset = "no certificate is requested from clients"},
       {.path = "ingress.tls.client_certificates",
        .slot = choice(tls.client_certificates, kCertificateNames),
        .doc = "Whether a client must present a certificate (`required`) or may do so "
               "(`optional`); a certificate that `client_ca_file` does not verify is refused "
               "either way."}});
}

constexpr std::array kAccessNames =
    std::to_array<std::string_view>({"relay", "operators", "refuse"});

void add_control_paths(Keys& keys, ControlPaths& control) {
  keys.insert(
      keys.end(),
      {{.path = "ingress.control_paths",
        .slot = Section{},
        .doc = "Paths of the engine's server that control it instead of giving it work; the "
               "preset of `engine.kind` lists them ([engines.md](engines.md#control-paths))."},
       {.path = "ingress.control_paths.access",
        .slot = choice(control.access, kAccessNames),
        .doc = "Whether paths that change the engine (sleep, aborts, caches, weights, adapters, "
               "the profiler) are relayed, relayed for operators only, or refused with 403."},
       {.path = "ingress.control_paths.status_access",
        .slot = choice(control.status_access, kAccessNames),
        .doc = "The same for paths that only report its state (health, metrics, load, versions)."},
       {.path = "ingress.control_paths.token",
        .slot = &control.token,
        .doc = "Value of the header `X-Lastcall-Token` that makes a request an operator's; the "
               "engine never receives this header.",
        .form = &kToken,
        .unset = "no token makes a request an operator's",
        .env = "LASTCALL_INGRESS_TOKEN",
        .secret = true},
       {.path = "ingress.control_paths.certificates",
        .slot = &control.certificates,
        .doc = "Names of client certificates whose holders are operators: a DNS name, a URI or "
               "an e-mail address of the certificate, or its common name if it has none of "
               "these; needs `ingress.tls.client_ca_file`.",
        .form = &kCertificateName},
       {.path = "ingress.control_paths.paths",
        .slot = items(control.paths),
        .doc = "Further control paths, and exceptions. The longest path that matches decides; it "
               "precedes one of the preset's of the same length."}});
}

}  // namespace

void add_ingress_keys(Keys& keys, Ingress& ingress) {
  keys.insert(
      keys.end(),
      {{.path = "ingress",
        .slot = Section{&ingress.enabled},
        .doc = "The HTTP proxy in front of an unmodified engine. It is on if this section exists; "
               "`ingress: {}` is enough, but `ingress:` alone is not."},
       {.path = "ingress.enabled",
        .slot = &ingress.enabled,
        .doc = "Whether the ingress is on; by default it is if this section exists."},
       {.path = "ingress.listen",
        .slot = &ingress.listen,
        .doc = "Address that clients connect to; port 0 picks a free port.",
        .range = kIngressPort,
        .local = true},
       {.path = "ingress.upstream",
        .slot = &ingress.upstream,
        .doc = "The engine's address, or its Unix socket.",
        .form = &kUpstream,
        .unset = "the preset's (127.0.0.1:8000, sglang 127.0.0.1:30000)"},
       {.path = "ingress.exclusive",
        .slot = &ingress.exclusive,
        .doc = "Whether all requests reach the engine through the ingress, so that the ingress's "
               "count is complete from the start.",
        .unset = "true if the upstream is a loopback address or a Unix socket"}});
  add_tls(keys, ingress.tls);
  add_limits(keys, ingress);
  add_forwarding(keys, ingress);
  add_control_paths(keys, ingress.control_paths);
  add_timeouts(keys, ingress.timeouts);
}

Keys keys_of(ControlRule& rule) {
  return {{.path = "path",
           .slot = &rule.path,
           .doc = "This path and all below it; with a trailing `*`, all paths that begin with it.",
           .form = &kControlPath,
           .required = true},
          {.path = "access",
           .slot = choice(rule.access, kAccessNames),
           .doc = "Whether its requests are relayed, relayed for operators only, or refused."}};
}

}  // namespace lastcall::config
