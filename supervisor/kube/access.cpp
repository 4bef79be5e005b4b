#include "supervisor/kube/access.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include "base/base64.hpp"
#include "base/child_output.hpp"
#include "base/error_text.hpp"
#include "config/text.hpp"
#include "supervisor/kube/json.hpp"
#include "supervisor/kube/memory_file.hpp"

namespace lastcall::kube {
namespace {

constexpr char const* kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

/// A fault with its place; it is caught in this file.
struct Refused {
  std::string text;
};

/// The file stays open until this process ends, because TLS reads it again for each connection.
std::string anonymous_file(std::string_view data) {
  MemoryFile file;
  if (std::string const problem = file.put(data); !problem.empty()) {
    throw Refused{problem};
  }
  std::string path = file.path();
  file.release();
  return path;
}

/// Decodes base64; blanks and line ends are skipped, because YAML may contain them.
std::string decoded(std::string base64, std::string const& key) {
  std::erase_if(base64, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  auto bytes = base64_decode(base64);
  if (!bytes || bytes->empty()) {
    throw Refused{key + ": not base64"};
  }
  return *std::move(bytes);
}

std::string scalar(YAML::Node const& node, char const* key) {
  YAML::Node const found = node.IsMap() ? node[key] : YAML::Node();
  return found && found.IsScalar() ? found.Scalar() : std::string();
}

/// A file that is given by its path (`client-key`) or by its content as base64 (`client-key-data`).
std::string file_of(YAML::Node const& node, std::string const& key, std::string const& folder) {
  if (std::string const data = scalar(node, (key + "-data").c_str()); !data.empty()) {
    return anonymous_file(decoded(data, key + "-data"));
  }
  std::string const path = scalar(node, key.c_str());
  return path.empty() || path.front() == '/' ? path : folder + "/" + path;
}

struct Entry {
  YAML::Node body;
  std::string folder;
};

/// Several kubeconfig files, read as one.
class Files {
 public:
  explicit Files(std::vector<std::string> const& paths) {
    for (std::string const& path : paths) {
      std::ifstream file(path);
      if (!file) {
        continue;
      }
      try {
        documents_.emplace_back(Entry{YAML::Load(file), path.substr(0, path.rfind('/'))});
      } catch (YAML::Exception const& error) {
        throw Refused{path + ": " + error.what()};
      }
    }
  }

  bool is_empty() const { return documents_.empty(); }

  std::string current() const {
    for (Entry const& each : documents_) {
      if (std::string name = scalar(each.body, "current-context"); !name.empty()) {
        return name;
      }
    }
    throw Refused{"no current-context, expected one, or --context"};
  }

  Entry entry(char const* list, char const* part, std::string const& name) const {
    for (Entry const& each : documents_) {
      YAML::Node const items = each.body.IsMap() ? each.body[list] : YAML::Node();
      for (auto const& item : items) {
        if (scalar(item, "name") == name && item[part] && item[part].IsMap()) {
          return {item[part], each.folder};
        }
      }
    }
    throw Refused{std::string(list) + ": there is none named '" + name + "'"};
  }

 private:
  std::vector<Entry> documents_;
};

void refuse(YAML::Node const& node, std::initializer_list<char const*> keys) {
  for (char const* const key : keys) {
    if (node[key]) {
      throw Refused{std::string(key) + ": not supported"};
    }
  }
}

discovery::HttpServer server_of(std::string const& url) {
  auto const parsed = config::parse_url(url);
  if (!parsed || (parsed->scheme != "https" && parsed->scheme != "http")) {
    throw Refused{"server: '" + url + "', expected https://HOST:PORT"};
  }
  discovery::HttpServer server{.tls = parsed->scheme == "https",
                               .host = parsed->address.host,
                               .port = parsed->address.port,
                               .path = parsed->path};
  if (server.path.ends_with('/')) {
    server.path.pop_back();
  }
  return server;
}

CredentialPlugin plugin_of(YAML::Node const& exec, std::string const& folder) {
  std::string command = scalar(exec, "command");
  if (command.find('/') != std::string::npos && command.front() != '/') {
    command = folder + "/" + command;
  }
  CredentialPlugin plugin{
      .words = {command}, .environment = {}, .api_version = scalar(exec, "apiVersion")};
  for (auto const& word : exec["args"]) {
    plugin.words.push_back(word.Scalar());
  }
  for (auto const& variable : exec["env"]) {
    plugin.environment.push_back(scalar(variable, "name") + "=" + scalar(variable, "value"));
  }
  return plugin;
}

void read_user(Entry const& user, Access& access) {
  refuse(user.body, {"auth-provider", "username", "password", "as", "as-uid", "as-groups"});
  access.token = scalar(user.body, "token");
  access.token_file = scalar(user.body, "tokenFile");
  access.tls.cert_file = file_of(user.body, "client-certificate", user.folder);
  access.tls.key_file = file_of(user.body, "client-key", user.folder);
  if (user.body["exec"]) {
    access.plugin = plugin_of(user.body["exec"], user.folder);
  }
}

Access from_files(Files const& files, AccessOptions const& options) {
  std::string const name = options.context.empty() ? files.current() : options.context;
  Entry const context = files.entry("contexts", "context", name);
  Entry const cluster = files.entry("clusters", "cluster", scalar(context.body, "cluster"));
  refuse(cluster.body, {"proxy-url", "tls-server-name"});
  Access access;
  access.server = server_of(scalar(cluster.body, "server"));
  access.tls.ca_file = file_of(cluster.body, "certificate-authority", cluster.folder);
  access.tls.is_verified = scalar(cluster.body, "insecure-skip-tls-verify") != "true";
  access.space = scalar(context.body, "namespace");
  if (std::string const user = scalar(context.body, "user"); !user.empty()) {
    read_user(files.entry("users", "user", user), access);
  }
  return access;
}

Access from_account(config::Environment const& environment) {
  auto const host = environment("KUBERNETES_SERVICE_HOST");
  auto const port = environment("KUBERNETES_SERVICE_PORT");
  if (!host || !port) {
    auto const list = environment("KUBECONFIG");
    std::string const missing =
        list && !list->empty() ? " ($KUBECONFIG names none that exists: '" + *list + "')" : "";
    throw Refused{"no kubeconfig" + missing +
                  ", and no service account of a pod: expected $KUBECONFIG, ~/.kube/config or "
                  "--kubeconfig FILE"};
  }
  bool const is_v6 = host->find(':') != std::string::npos;
  std::string const account = kAccount;
  Access access;
  access.server = server_of("https://" + (is_v6 ? "[" + *host + "]" : *host) + ":" + *port);
  access.tls.ca_file = account + "ca.crt";
  access.token_file = account + "token";
  std::ifstream space(account + "namespace");
  std::getline(space, access.space);
  return access;
}

std::vector<std::string> paths_of(AccessOptions const& options,
                                  config::Environment const& environment) {
  if (!options.kubeconfig.empty()) {
    if (::access(options.kubeconfig.c_str(), R_OK) != 0) {
      throw Refused{"cannot open " + options.kubeconfig + ": " + error_text(errno)};
    }
    return {options.kubeconfig};
  }
  std::vector<std::string> paths;
  if (auto const list = environment("KUBECONFIG"); list && !list->empty()) {
    for (std::size_t begin = 0; begin <= list->size();) {
      std::size_t const end = std::min(list->find(':', begin), list->size());
      paths.push_back(list->substr(begin, end - begin));
      begin = end + 1;
    }
  } else if (auto const home = environment("HOME")) {
    paths.push_back(*home + "/.kube/config");
  }
  return paths;
}

// --- plugins -------------------------------------------------------------------------------------

void become_plugin(CredentialPlugin& plugin) {
  for (std::string& variable : plugin.environment) {
    ::putenv(variable.data());
  }
  std::string info = "KUBERNETES_EXEC_INFO={\"apiVersion\":\"" + plugin.api_version +
                     "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}}";
  ::putenv(info.data());
  std::vector<char*> words;
  for (std::string& word : plugin.words) {
    words.push_back(word.data());
  }
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
}

}  // namespace

std::variant<Access, NoAccess> find_access(AccessOptions const& options,
                                           config::Environment const& environment) {
  try {
    Files const files(paths_of(options, environment));
    Access access = files.is_empty() ? from_account(environment) : from_files(files, options);
    if (!options.space.empty()) {
      access.space = options.space;
    }
    if (access.space.empty()) {
      access.space = "default";
    }
    return access;
  } catch (Refused const& refused) {
    return NoAccess{refused.text};
  } catch (YAML::Exception const& error) {
    return NoAccess{error.what()};
  }
}

std::string refresh(Access& access) {
  using json::member;
  using json::text;
  std::string const name = access.plugin->words.front();
  CredentialPlugin plugin = *access.plugin;
  auto const output = output_of_child([&] { become_plugin(plugin); });
  if (!output) {
    return "the credential plugin " + name + " failed or does not exist";
  }
  Json const credential = json::parsed<Json>(*output);
  Json const& status = member(credential, "status");
  access.token = text(member(status, "token"));
  std::string const certificate = text(member(status, "clientCertificateData"));
  if (access.token.empty() && certificate.empty()) {
    return "the credential plugin " + name + " printed no ExecCredential with a token";
  }
  try {
    if (!certificate.empty()) {
      access.tls.cert_file = anonymous_file(certificate);
      access.tls.key_file = anonymous_file(text(member(status, "clientKeyData")));
    }
  } catch (Refused const& refused) {
    return refused.text;
  }
  return {};
}

}  // namespace lastcall::kube
