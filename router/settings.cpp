#include "router/settings.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "config/sources.hpp"
#include "config/text.hpp"

namespace lastcall::router {
namespace {

void judge_source(StaticSource const& named, std::string const& at, auto const& complain) {
  for (std::size_t i = 0; i < named.urls.size(); ++i) {
    std::optional<config::Url> const url = config::parse_url(named.urls[i]);
    if (url && url->path != "/") {
      complain(at + ".static.urls[" + std::to_string(i) + "]",
               "a URL with a path, expected scheme, host and port alone: requests keep their "
               "own path");
    }
  }
}

void judge_source(FileSource const& /*files*/, std::string const& /*at*/,
                  auto const& /*complain*/) {}

void judge_source(EtcdSource const& etcd, std::string const& at, auto const& complain) {
  if (etcd.cert_file.has_value() != etcd.key_file.has_value()) {
    complain(at + (etcd.cert_file ? ".etcd.cert_file" : ".etcd.key_file"),
             "one of two, expected cert_file and key_file or neither");
  }
  if (etcd.component && !etcd.dynamo_namespace) {
    complain(at + ".etcd.component", "set without namespace, expected both");
  }
}

void judge_source(KubernetesSource const& /*slices*/, std::string const& /*at*/,
                  auto const& /*complain*/) {}

void judge(Settings const& settings, config::Places const& places, config::Problems& errors) {
  auto const complain = [&](std::string const& key, char const* text) {
    errors.push_back({config::nearest_place(places, key), key, text});
  };
  if (settings.tls.cert_file.has_value() != settings.tls.key_file.has_value()) {
    complain(settings.tls.cert_file ? "tls.cert_file" : "tls.key_file",
             "one of two, expected tls.cert_file and tls.key_file or neither");
  }
  if (settings.worker_tls.cert_file.has_value() != settings.worker_tls.key_file.has_value()) {
    complain(settings.worker_tls.cert_file ? "worker_tls.cert_file" : "worker_tls.key_file",
             "one of two, expected worker_tls.cert_file and worker_tls.key_file or neither");
  }
  if (settings.choosing.skip_most < settings.choosing.skip_first) {
    complain("choosing.skip_most", "less than choosing.skip_first, expected at least that");
  }
  if (settings.shutdown.late_accept > settings.shutdown.grace_period) {
    complain(
        "shutdown.late_accept",
        "longer than shutdown.grace_period, expected at most that: it is part of the grace period");
  }
  if (settings.listen.port != 0 && settings.listen == settings.operators) {
    complain("operators", "the same as listen, expected another port");
  }
  for (std::size_t i = 0; i < settings.workers.size(); ++i) {
    std::string const at = "workers[" + std::to_string(i) + "]";
    std::visit([&](auto const& source) { judge_source(source, at, complain); },
               settings.workers[i].kind);
  }
}

}  // namespace

LoadedSettings load_settings(config::LoadOptions const& options,
                             config::Environment const& environment) {
  LoadedSettings loaded;
  config::Sources sources(
      options, environment, kConfigVariable, [&] { return keys_of(loaded.settings); },
      loaded.errors);
  sources.load();
  loaded.source = sources.source();
  if (loaded.errors.empty() && loaded.settings.workers.empty()) {
    loaded.errors.push_back(
        {{loaded.source, 0, 0}, "workers", "none, expected a list with at least one source"});
  }
  if (loaded.errors.empty()) {
    judge(loaded.settings, sources.places(), loaded.errors);
  }
  config::sort_by_place(loaded.errors);
  return loaded;
}

}  // namespace lastcall::router
