#include "router/worker_sources.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>

#include "base/overloaded.hpp"
#include "config/environment.hpp"
#include "config/text.hpp"
#include "discovery/etcd_instances.hpp"
#include "discovery/in_cluster.hpp"
#include "discovery/instance_watch.hpp"
#include "discovery/kubernetes_instances.hpp"
#include "router/worker_files.hpp"

namespace lastcall::router {
namespace {

/// The supervisor's variable is withheld from any program that `lastcall run` starts, so the
/// router's own comes first.
std::string etcd_password_of_environment() {
  config::Environment const environment = config::process_environment();
  auto const own = environment(kEtcdPasswordVariable);
  return own ? *own : environment("LASTCALL_ETCD_PASSWORD").value_or("");
}

}  // namespace

std::string problem_of_worker(std::string const& url) {
  std::optional<config::Url> const parsed = config::parse_url(url);
  if (!parsed || (parsed->scheme != "http" && parsed->scheme != "https")) {
    return "it is not an http or https URL";
  }
  return parsed->path == "/" ? "" : "its URL has a path, expected scheme, host and port alone";
}

/// One source, with the object that reads it.
struct WorkerSources::Followed {
  Source source;
  std::size_t number = 0;
  std::string name{};  // the name in the log and in the label of a metric
  std::unique_ptr<WorkerFiles> files{};
  std::unique_ptr<discovery::InstanceWatch> registry{};
  std::set<std::string> reported{};  // URLs and keys that were skipped

  discovery::InstanceWatch::Listeners listeners(WorkerSources& owner) {
    return {.found =
                [this, &owner](std::vector<discovery::FoundInstance> const& instances) {
                  owner.listeners_.found(number, name, usable(instances, owner.listeners_));
                  owner.listed(number);
                },
            .troubled =
                [this, &owner](std::string const& problem) {
                  owner.listeners_.troubled(number, name, problem);
                }};
  }

  bool is_registry() const {
    return !std::holds_alternative<StaticSource>(source.kind) &&
           !std::holds_alternative<FileSource>(source.kind);
  }

  /// EndpointSlices do not state the scheme.
  std::string url_of(discovery::FoundInstance const& instance) const {
    auto const* const slices = std::get_if<KubernetesSource>(&source.kind);
    constexpr std::string_view kPlain = "http://";
    return slices != nullptr && slices->tls && instance.url.starts_with(kPlain)
               ? "https://" + instance.url.substr(kPlain.size())
               : instance.url;
  }

  std::vector<Announced> usable(std::vector<discovery::FoundInstance> const& instances,
                                Listeners const& to) {
    std::vector<Announced> workers;
    std::set<std::string> skipped;
    for (discovery::FoundInstance const& instance : instances) {
      std::string const problem =
          instance.problem.empty() ? problem_of_worker(instance.url) : instance.problem;
      if (problem.empty()) {
        workers.push_back({.url = url_of(instance), .model = instance.model});
      } else if (skipped.insert(instance.url).second && !reported.contains(instance.url)) {
        to.skipped(instance.url, problem);
      }
    }
    reported = std::move(skipped);
    return workers;
  }
};

WorkerSources::WorkerSources(boost::asio::io_context& io, Listeners listeners)
    : io_(io), listeners_(std::move(listeners)) {}

WorkerSources::~WorkerSources() = default;

void WorkerSources::follow(std::vector<Source> const& sources) {
  std::vector<std::unique_ptr<Followed>> before = std::exchange(followed_, {});
  std::set<std::size_t> added;
  for (Source const& source : sources) {
    auto const same = std::find_if(before.begin(), before.end(),
                                   [&](auto const& one) { return one && one->source == source; });
    bool const is_new = same == before.end();
    followed_.push_back(is_new ? begin(source) : std::move(*same));
    if (is_new && followed_.back()->is_registry()) {
      added.insert(followed_.back()->number);
    }
  }
  for (auto const& one : before) {
    if (one) {
      remove(*one, added);
    }
  }
  release();
}

void WorkerSources::remove(Followed& followed, std::set<std::size_t> const& added) {
  followed.files.reset();
  followed.registry.reset();
  listeners_.troubled(followed.number, followed.name, "");
  for (Removed& earlier : removed_) {
    if (earlier.awaited.erase(followed.number) > 0) {
      earlier.awaited.insert(added.begin(), added.end());
    }
  }
  removed_.push_back({.number = followed.number, .name = followed.name, .awaited = added});
}

void WorkerSources::listed(std::size_t number) {
  for (Removed& one : removed_) {
    one.awaited.erase(number);
  }
  release();
}

void WorkerSources::release() {
  std::erase_if(removed_, [this](Removed const& one) {
    if (one.awaited.empty()) {
      listeners_.found(one.number, one.name, {});
    }
    return one.awaited.empty();
  });
}

std::unique_ptr<WorkerSources::Followed> WorkerSources::begin(Source const& source) {
  auto followed = std::make_unique<Followed>(Followed{.source = source, .number = ++last_number_});
  std::visit(Overloaded{
                 [&](StaticSource const& kind) { begin_static(*followed, kind); },
                 [&](FileSource const& kind) { begin_files(*followed, kind); },
                 [&](EtcdSource const& kind) { begin_etcd(*followed, kind); },
                 [&](KubernetesSource const& kind) { begin_kubernetes(*followed, kind); },
             },
             source.kind);
  return followed;
}

void WorkerSources::begin_static(Followed& followed, StaticSource const& source) {
  std::vector<Announced> workers;
  for (std::string const& url : source.urls) {
    workers.push_back({.url = url, .model = source.model});
  }
  followed.name = "static";
  listeners_.found(followed.number, followed.name, workers);
}

void WorkerSources::begin_files(Followed& followed, FileSource const& source) {
  followed.name = source.directory;
  followed.files = std::make_unique<WorkerFiles>(
      io_, source.directory,
      WorkerFiles::Listeners{
          .found =
              [this, number = followed.number, name = followed.name](
                  std::vector<Announced> const& found) { listeners_.found(number, name, found); },
          .troubled =
              [this, number = followed.number, name = followed.name](std::string const& problem) {
                listeners_.troubled(number, name, problem);
              },
          .skipped = listeners_.skipped});
  followed.files->start();
}

void WorkerSources::begin_etcd(Followed& followed, EtcdSource const& source) {
  discovery::EtcdAccess access{.servers = {},
                               .user = source.username.value_or(""),
                               .password_file = source.password_file.value_or(""),
                               .password = etcd_password_of_environment()};
  for (std::string const& endpoint : source.endpoints) {
    access.servers.push_back(discovery::server_at(endpoint));
  }
  followed.name = "etcd " + discovery::to_text(access.servers.front());
  followed.registry = std::make_unique<discovery::InstanceWatch>(
      io_.get_executor(), "etcd-workers",
      discovery::HttpTls{.ca_file = source.ca_file.value_or(""),
                         .cert_file = source.cert_file.value_or(""),
                         .key_file = source.key_file.value_or("")},
      discovery::make_etcd_instances(
          std::move(access), discovery::etcd::instances_prefix(source.dynamo_namespace.value_or(""),
                                                               source.component.value_or(""))),
      followed.listeners(*this));
  followed.registry->start();
}

void WorkerSources::begin_kubernetes(Followed& followed, KubernetesSource const& source) {
  config::Environment const environment = config::process_environment();
  std::string const space =
      source.space.value_or(discovery::own_namespace(environment, source.token_file));
  std::string const url = source.api_server.value_or(discovery::api_server_url(environment));
  followed.name = "kubernetes " + space + "/" + source.services.front();
  if (url.empty() || space.empty()) {
    listeners_.troubled(followed.number, followed.name,
                        url.empty()
                            ? "no API server is known: set api_server, or KUBERNETES_SERVICE_HOST"
                            : "no namespace is known: set namespace, or POD_NAMESPACE");
    return;
  }
  followed.registry = std::make_unique<discovery::InstanceWatch>(
      io_.get_executor(), "slices",
      discovery::HttpTls{.ca_file = source.ca_file, .cert_file = {}, .key_file = {}},
      discovery::make_kubernetes_instances(
          {.api = {.server = discovery::server_at(url), .token_file = source.token_file},
           .space = space,
           .services = source.services,
           .port = source.port.value_or(""),
           .model = source.model}),
      followed.listeners(*this));
  followed.registry->start();
}

}  // namespace lastcall::router
