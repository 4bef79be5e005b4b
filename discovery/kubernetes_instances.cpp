#include "discovery/kubernetes_instances.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/parse_number.hpp"
#include "discovery/http_client.hpp"
#include "discovery/kubernetes_wire.hpp"

namespace lastcall::discovery {

namespace kubernetes {
namespace {

std::optional<std::uint16_t> port_of(Slice const& slice, std::string_view wanted) {
  if (auto const number = parse_number<std::uint16_t>(wanted)) {
    return number;
  }
  for (SlicePort const& port : slice.ports) {
    if (wanted.empty() || port.name == wanted) {
      return port.port;
    }
  }
  return std::nullopt;
}

}  // namespace

void SliceUrls::found(Slice const& slice) {
  std::vector<Address> addresses;
  if (std::optional<std::uint16_t> const port = port_of(slice, port_)) {
    for (SliceEndpoint const& endpoint : slice.endpoints) {
      bool const is_up = endpoint.ready && !endpoint.terminating;
      for (std::string const& address : endpoint.addresses) {
        addresses.push_back({endpoint.pod_uid, address, *port, is_up});
      }
    }
  }
  addresses_.insert_or_assign(slice.name, std::move(addresses));
}

std::vector<std::string> SliceUrls::urls() const {
  std::set<std::pair<std::string_view, std::uint16_t>> with_v4;
  for (auto const& [name, addresses] : addresses_) {
    for (Address const& address : addresses) {
      if (!address.pod_uid.empty() && !address.is_v6()) {
        with_v4.emplace(address.pod_uid, address.port);
      }
    }
  }
  std::set<std::string> all;
  for (auto const& [name, addresses] : addresses_) {
    for (Address const& address : addresses) {
      bool const is_second = address.is_v6() && with_v4.contains({address.pod_uid, address.port});
      if (address.is_up && !is_second) {
        all.insert(to_text(HttpServer{.host = address.text, .port = address.port}));
      }
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace kubernetes

namespace {

constexpr int kOk = 200;
constexpr int kGone = 410;
constexpr std::chrono::seconds kEndsBefore{5};

class KubernetesInstances final : public InstanceSource {
 public:
  explicit KubernetesInstances(KubernetesInstancesSettings settings)
      : model_(std::move(settings.model)),
        client_(std::move(settings.api), std::move(settings.space), std::move(settings.services)),
        slices_(std::move(settings.port)) {}

  std::string list(HttpClient& client, TimePoint deadline) override {
    // If the list breaks off, its result is not used.
    return client_.list(client, deadline, slices_);
  }

  Followed follow(HttpClient& client, TimePoint deadline,
                  std::function<void()> const& changed) override {
    // The server ends the watch before the deadline; if it does not, the connection is dead.
    SliceClient::Watched const watched = client_.watch(
        client, {.until = deadline - kEndsBefore, .deadline = deadline}, slices_, [&] {
          changed();
          return true;
        });
    HttpReply const& reply = watched.reply;
    if (reply.status == kGone || (reply.status == kOk && watched.is_stale)) {
      return {Ended::stale, {}};
    }
    if (reply.status == kOk) {
      return {};
    }
    return {Ended::broken,
            reply.status == 0 ? reply.error : kubernetes::refusal_of(reply.status, reply.body)};
  }

  std::vector<FoundInstance> found() const override {
    std::vector<FoundInstance> all;
    for (std::string& url : slices_.urls()) {
      all.push_back({std::move(url), model_});
    }
    return all;
  }

 private:
  std::string const model_;
  SliceClient client_;
  kubernetes::SliceUrls slices_;
};

}  // namespace

std::unique_ptr<InstanceSource> make_kubernetes_instances(KubernetesInstancesSettings settings) {
  return std::make_unique<KubernetesInstances>(std::move(settings));
}

}  // namespace lastcall::discovery
