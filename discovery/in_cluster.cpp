#include "discovery/in_cluster.hpp"

#include "discovery/secret_file.hpp"

namespace lastcall::discovery {

std::string api_server_url(config::Environment const& environment) {
  std::string host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  if (host.find(':') != std::string::npos) {
    host = "[" + host + "]";
  }
  return host.empty()
             ? ""
             : "https://" + host + ":" + environment("KUBERNETES_SERVICE_PORT").value_or("443");
}

std::string own_namespace(config::Environment const& environment, std::string const& token_file) {
  std::string const beside = token_file.substr(0, token_file.rfind('/')) + "/namespace";
  std::string const given = environment("POD_NAMESPACE").value_or("");
  return given.empty() ? read_secret(beside).value_or("") : given;
}

}  // namespace lastcall::discovery
