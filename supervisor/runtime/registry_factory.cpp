#include "supervisor/runtime/registry_factory.hpp"

#include <cstdlib>
#include <utility>

#include "discovery/etcd_registry.hpp"
#include "discovery/file_registry.hpp"
#include "discovery/http_registry.hpp"
#include "supervisor/config/text.hpp"

namespace lastcall::runtime {
namespace {

std::string environment(char const* name) {
  char const* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

/// The configuration has checked that it is a URL.
discovery::HttpServer server_of(std::string const& url) {
  config::Url const parsed = config::parse_url(url).value_or(config::Url{});
  return {.tls = parsed.scheme == "https",
          .host = parsed.address.host,
          .port = parsed.address.port,
          .path = parsed.path == "/" ? "" : parsed.path};
}

/// Of a registry that has these keys.
discovery::HttpTls tls_of(auto const& registry) {
  return {.ca_file = registry.ca_file.value_or(""),
          .cert_file = registry.cert_file.value_or(""),
          .key_file = registry.key_file.value_or("")};
}

discovery::EtcdSettings settings_of(config::EtcdRegistry const& etcd) {
  discovery::EtcdSettings settings;
  for (std::string const& endpoint : etcd.endpoints) {
    settings.servers.push_back(server_of(endpoint));
  }
  settings.lease_ttl = std::chrono::duration_cast<std::chrono::seconds>(etcd.lease_ttl);
  settings.user = etcd.username.value_or("");
  settings.password_file = etcd.password_file.value_or("");
  settings.password = environment("LASTCALL_ETCD_PASSWORD");
  settings.tls = tls_of(etcd);
  return settings;
}

discovery::HttpRegistrySettings settings_of(config::HttpRegistry const& http) {
  discovery::HttpRegistrySettings settings{
      .register_at = server_of(http.url),
      .deregister_at = server_of(http.deregister_url.value_or(http.url)),
      .body = http.body.value_or(""),
      .headers = {},
      .token_file = http.token_file.value_or(""),
      .timeout = http.timeout,
      .tls = tls_of(http)};
  for (std::string const& header : http.headers) {
    std::size_t const colon = header.find(':');
    std::size_t const value = header.find_first_not_of(' ', colon + 1);
    settings.headers.emplace_back(header.substr(0, colon),
                                  value == std::string::npos ? "" : header.substr(value));
  }
  return settings;
}

}  // namespace

std::unique_ptr<discovery::Registry> make_registry(boost::asio::any_io_executor const& executor,
                                                   config::Registry const& registry,
                                                   discovery::Instance const& instance) {
  if (auto const* file = std::get_if<config::FileRegistry>(&registry.kind)) {
    return discovery::make_file_registry(executor, file->directory, {instance});
  }
  if (auto const* etcd = std::get_if<config::EtcdRegistry>(&registry.kind)) {
    return discovery::make_etcd_registry(executor, settings_of(*etcd), {instance});
  }
  if (auto const* http = std::get_if<config::HttpRegistry>(&registry.kind)) {
    return discovery::make_http_registry(executor, settings_of(*http), {instance});
  }
  return nullptr;
}

}  // namespace lastcall::runtime
