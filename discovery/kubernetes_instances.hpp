// Lists and watches the instances in the EndpointSlices of Services.
//
// Rules:
//  1. An endpoint counts if it is ready and not terminating; each of its addresses is an instance.
//  2. The port is the slice's port with the configured name or number, or its first port if none is
//     configured. A number is used even if the slice does not have it.
//  3. A Service with both address families lists each of its pods in a slice of each. A pod that a
//     slice lists with an IPv4 address, ready or not, is no instance with its IPv6 address, too.
//  4. After an error in the watch (410: the version is too old) the slices are listed again; that
//     is not a failure.
//
// Thread rule: the thread of the source's jobs. Source: kubernetes_slices.hpp, slice_client.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "discovery/instance_watch.hpp"
#include "discovery/kubernetes_slices.hpp"
#include "discovery/slice_client.hpp"

namespace lastcall::discovery {

namespace kubernetes {

/// The URLs of the instances in the slices, as last received.
class SliceUrls final : public SliceReader {
 public:
  /// `port`: a name or a number; empty: the first.
  explicit SliceUrls(std::string port) : port_(std::move(port)) {}

  /// Sorted and without duplicates.
  std::vector<std::string> urls() const;

 private:
  struct Address {
    std::string pod_uid;  // empty if it is not a pod
    std::string text;
    std::uint16_t port = 0;
    bool is_up = false;  // ready and not terminating

    bool is_v6() const { return text.find(':') != std::string::npos; }
  };

  void forget_all() override { addresses_.clear(); }
  void found(Slice const& slice) override;
  void gone(std::string const& name) override { addresses_.erase(name); }

  std::string const port_;
  std::map<std::string, std::vector<Address>> addresses_;  // by the slice's name
};

}  // namespace kubernetes

struct KubernetesInstancesSettings {
  ApiAccess api;
  std::string space;
  std::vector<std::string> services;
  std::string port;
  std::string model;  // for all instances, since slices name none
};

std::unique_ptr<InstanceSource> make_kubernetes_instances(KubernetesInstancesSettings settings);

}  // namespace lastcall::discovery
