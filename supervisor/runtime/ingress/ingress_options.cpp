#include "supervisor/runtime/ingress/ingress_options.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor_limit.hpp"
#include "config/presets.hpp"
#include "config/text.hpp"
#include "ingress/memory_limit.hpp"
#include "supervisor/runtime/host/descriptor_shares.hpp"

namespace lastcall::runtime {
namespace {

/// Longer than the second after which a shim that cannot be watched counts as gone.
constexpr config::Duration kVerdict{1'500};
/// A dying engine's check fails within this time, if the engine can be asked at all.
constexpr config::Duration kHeld{2'000};
/// Buffers get this part of the available memory. The rest is for the overhead of buffers, for the
/// kernel's memory for connections, and for the supervisor itself.
constexpr std::uint64_t kPartForBuffers = 2;
/// This is more than 10 000 slow clients can hold; in a shared container the memory limit is the
/// engine's.
constexpr std::uint64_t kMostForBuffers = std::uint64_t{1} << 30U;

/// The configuration has checked that these texts are networks.
ingress::Networks networks(std::vector<std::string> const& texts) {
  std::vector<ingress::Network> all;
  for (std::string const& text : texts) {
    if (std::optional<config::Network> const network = config::parse_network(text)) {
      all.push_back({network->address, network->is_v6, network->bits});
    }
  }
  return ingress::Networks(std::move(all));
}

static_assert(static_cast<int>(config::ControlAccess::refuse) ==
              static_cast<int>(relay::Access::refuse));

relay::Access access_of(config::ControlAccess access) {
  return static_cast<relay::Access>(access);
}

relay::Rest rest_of(config::EnginePreset const& preset, std::string_view path) {
  auto const has = [path](std::vector<std::string_view> const& paths) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  if (has(preset.rest_paths)) {
    return relay::Rest::begins;
  }
  return has(preset.wake_paths) ? relay::Rest::ends : relay::Rest::none;
}

/// The preset's rules come first, then the configuration's: of two rules with the same length, the
/// later one wins.
ingress::Control control_of(config::Config const& config) {
  config::ControlPaths const& set = config.ingress.control_paths;
  config::EnginePreset const& preset = config::preset_of(config.engine.kind);
  ingress::Control control{
      .paths = {}, .token = set.token.value_or(""), .certificates = set.certificates};
  for (std::string_view const path : preset.status_paths) {
    control.paths.push_back({std::string(path), access_of(set.status_access), true});
  }
  for (std::string_view const path : preset.control_paths) {
    control.paths.push_back(
        {std::string(path), access_of(set.access), true, rest_of(preset, path)});
  }
  for (config::EndpointSettings const& endpoint : config.endpoints) {
    if (endpoint.name.starts_with('/')) {  // it is declared as work
      control.paths.push_back({endpoint.name, relay::Access::relay, false});
    }
  }
  for (config::ControlRule const& rule : set.paths) {
    control.paths.push_back({rule.path, access_of(rule.access), false, rest_of(preset, rule.path)});
  }
  return control;
}

}  // namespace

ingress::Options ingress_options(config::Config const& config) {
  using ingress::Wait;
  config::ProxyTimeouts const& timeouts = config.ingress.timeouts;
  ingress::Options options;
  options.waits = ingress::waits_of(timeouts);
  auto const set = [&](Wait wait, std::optional<config::Duration> length) {
    options.waits[static_cast<std::size_t>(wait)] = length;
  };
  // Without a limit, a place would be lost with each request that an engine forgets.
  bool const is_bounded = timeouts.first_byte || timeouts.total;
  set(Wait::left, is_bounded ? timeouts.first_byte : config::kLeftToEngine);
  set(Wait::verdict, kVerdict);
  set(Wait::held, kHeld);
  options.max_head = config.ingress.max_header_size;
  options.max_body = config.ingress.max_body_size;
  options.max_connections =
      std::min<std::size_t>(config.ingress.max_connections,
                            descriptor_shares(descriptor_limit(), config.ingress.threads).clients);
  options.max_connections_per_address = config.ingress.max_connections_per_address;
  std::uint64_t const memory = ingress::memory_limit().value_or(kPartForBuffers * kMostForBuffers);
  options.max_buffer_memory = static_cast<std::size_t>(config.ingress.max_buffer_memory.value_or(
      std::min(memory / kPartForBuffers, kMostForBuffers)));
  options.trusted_proxies = networks(config.ingress.trusted_proxies);
  options.keeps_underscores = config.ingress.underscores_in_headers;
  options.default_model = config.identity.model;
  options.control = control_of(config);
  for (config::EndpointSettings const& endpoint : config.endpoints) {
    options.endpoints.push_back({endpoint.name, endpoint.defer_cancel});
  }
  return options;
}

ingress::TlsSettings tls_settings(config::IngressTls const& tls) {
  using config::ClientCertificates;
  return {.certificate = tls.cert_file.value_or(""),
          .key = tls.key_file.value_or(""),
          .client_authorities = tls.client_ca_file.value_or(""),
          .requires_client_certificate = tls.client_certificates == ClientCertificates::required,
          .is_only_1_3 = tls.min_version == config::TlsVersion::v1_3,
          .ciphers = tls.ciphers};
}

}  // namespace lastcall::runtime
