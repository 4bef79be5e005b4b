#include "supervisor/kube/kept_objects.hpp"

#include <cstddef>
#include <functional>
#include <utility>

#include "base/base64.hpp"

namespace lastcall::kube {
namespace {

using json::member;
using json::text;

constexpr char const* kGroup = "admissionregistration.k8s.io/v1";
constexpr char const* kManagedBy = "app.kubernetes.io/managed-by";
constexpr char const* kOurs = "lastcall-webhook";

Json data_of(KeyPair const& pair) {
  return {{"ca.crt", base64_encode(pair.authorities)},
          {"tls.crt", base64_encode(pair.certificate)},
          {"tls.key", base64_encode(pair.key)}};
}

std::string decoded(Json const& data, char const* key) {
  return base64_decode(text(member(data, key))).value_or("");
}

/// Begins a patch that applies only to this version of the object.
Json same_version(Json const& object) {
  return Json::array({{{"op", "test"},
                       {"path", "/metadata/resourceVersion"},
                       {"value", member(member(object, "metadata"), "resourceVersion")}}});
}

Json put(std::string const& path, Json value) {
  return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

/// Calls `visit` for each webhook that calls the Service, with its index and its clientConfig.
void for_each_webhook(Json const& registration, KeptNames const& names,
                      std::function<void(std::size_t, Json const&)> const& visit) {
  Json const& webhooks = member(registration, "webhooks");
  for (std::size_t i = 0; webhooks.is_array() && i < webhooks.size(); ++i) {
    Json const& client = member(webhooks[i], "clientConfig");
    Json const& service = member(client, "service");
    if (text(member(service, "name")) == names.service &&
        text(member(service, "namespace")) == names.space) {
      visit(i, client);
    }
  }
}

}  // namespace

std::string KeptNames::secrets_path() const {
  return "/api/v1/namespaces/" + space + "/secrets";
}

std::string KeptNames::registration_path() const {
  return std::string("/apis/") + kGroup + "/mutatingwebhookconfigurations/" + registration;
}

Json new_secret(KeptNames const& names, KeyPair const& pair, Json const& registration) {
  Json const owner = {{"apiVersion", kGroup},
                      {"kind", "MutatingWebhookConfiguration"},
                      {"name", names.registration},
                      {"uid", member(member(registration, "metadata"), "uid")}};
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata",
           {{"name", names.secret},
            {"labels", {{kManagedBy, kOurs}}},
            {"ownerReferences", Json::array({owner})}}},
          {"type", "kubernetes.io/tls"},
          {"data", data_of(pair)}};
}

KeyPair pair_of(Json const& secret) {
  Json const& data = member(secret, "data");
  return {.certificate = decoded(data, "tls.crt"),
          .key = decoded(data, "tls.key"),
          .authorities = decoded(data, "ca.crt")};
}

bool is_ours(Json const& secret) {
  return text(member(member(member(secret, "metadata"), "labels"), kManagedBy)) == kOurs;
}

Json secret_patch(Json const& secret, KeyPair const& pair) {
  Json patch = same_version(secret);
  patch.push_back(put("/data", data_of(pair)));
  return patch;
}

int webhooks_of(Json const& registration, KeptNames const& names) {
  int count = 0;
  for_each_webhook(registration, names, [&](std::size_t, Json const&) { ++count; });
  return count;
}

Json trust_patch(Json const& registration, KeptNames const& names, std::string const& authorities) {
  std::string const bundle = base64_encode(authorities);
  Json patch = same_version(registration);
  for_each_webhook(registration, names, [&](std::size_t i, Json const& client) {
    if (text(member(client, "caBundle")) != bundle) {
      patch.push_back(put("/webhooks/" + std::to_string(i) + "/clientConfig/caBundle", bundle));
    }
  });
  return patch.size() > 1 ? patch : Json::array();
}

}  // namespace lastcall::kube
