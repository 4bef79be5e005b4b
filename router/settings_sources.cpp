// Rows of the sources of workers.
#include "config/keys_bind.hpp"
#include "config/text.hpp"
#include "router/settings.hpp"

namespace lastcall::router {
namespace {

using config::Keys;

Keys static_keys(StaticSource& source) {
  return {{.path = "urls",
           .slot = &source.urls,
           .doc = "URLs of workers, without a path; each is a lastcall ingress or an engine.",
           .form = &config::kHttpUrl,
           .required = true},
          {.path = "model",
           .slot = &source.model,
           .doc = "Model that these workers serve; if empty, any model that a request names.",
           .form = &config::kAnyText}};
}

Keys file_keys(FileSource& source) {
  return {{.path = "directory",
           .slot = &source.directory,
           .doc = "Directory of instance files (`*.json`), as lastcall's `file` registry writes "
                  "them; it is watched, and may be missing.",
           .form = &config::kAbsolutePath,
           .required = true}};
}

Keys etcd_keys(EtcdSource& source) {
  Keys keys{config::etcd_endpoints_key(source),
            {.path = "namespace",
             .slot = &source.dynamo_namespace,
             .doc = "Use only instances with this `identity.namespace`.",
             .form = &config::kName,
             .unset = "all instances"},
            {.path = "component",
             .slot = &source.component,
             .doc = "Use only instances with this `identity.component`; needs `namespace`.",
             .form = &config::kName,
             .unset = "all instances"}};
  config::add_etcd_client_keys(
      keys, source,
      "the environment variable `LASTCALL_ROUTER_ETCD_PASSWORD`, else `LASTCALL_ETCD_PASSWORD`");
  return keys;
}

Keys kubernetes_keys(KubernetesSource& source) {
  return {{.path = "services",
           .slot = &source.services,
           .doc = "Services whose ready endpoints are workers.",
           .form = &config::kName,
           .required = true},
          {.path = "namespace",
           .slot = &source.space,
           .doc = "Namespace of these Services.",
           .form = &config::kName,
           .unset = "`POD_NAMESPACE`, else the namespace of the token"},
          {.path = "port",
           .slot = &source.port,
           .doc = "Name or number of the port that workers listen on.",
           .form = &config::kName,
           .unset = "the Service's first port"},
          {.path = "model",
           .slot = &source.model,
           .doc = "Model that these workers serve; if empty, any model that a request names.",
           .form = &config::kAnyText},
          {.path = "tls",
           .slot = &source.tls,
           .doc = "Whether these workers speak HTTPS, with "
                  "the settings of `worker_tls`."},
          {.path = "api_server",
           .slot = &source.api_server,
           .doc = "URL of the API server.",
           .form = &config::kHttpUrl,
           .unset = "the in-cluster address"},
          {.path = "token_file",
           .slot = &source.token_file,
           .doc = "File with the token; it is read again for each request.",
           .form = &config::kAbsolutePath},
          {.path = "ca_file",
           .slot = &source.ca_file,
           .doc = "File with the API server's certificate authority.",
           .form = &config::kAbsolutePath}};
}

}  // namespace

Keys keys_of(Source& source) {
  auto& kind = source.kind;
  return {{.path = "",
           .slot =
               config::OneOf{
                   {config::alternative<StaticSource>(kind, "static", "A fixed list of workers.",
                                                      static_keys),
                    config::alternative<FileSource>(
                        kind, "file", "A directory that workers write into.", file_keys),
                    config::alternative<EtcdSource>(
                        kind, "etcd", "Keys in etcd, as lastcall's `etcd` registry writes them.",
                        etcd_keys),
                    config::alternative<KubernetesSource>(
                        kind, "kubernetes", "EndpointSlices of Services.", kubernetes_keys)},
                   [&kind] { return kind.index(); }},
           .doc = "Kind of the source."}};
}

}  // namespace lastcall::router
