#include "discovery/kubernetes_slices.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::discovery::kubernetes {
namespace {

using json::member;
using json::text;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostPort = 65'535;

bool flag(Json const& json, bool otherwise) {
  return json.is_boolean() ? json.get<bool>() : otherwise;
}

SliceEndpoint endpoint_of(Json const& json) {
  auto const& conditions = member(json, "conditions");
  SliceEndpoint endpoint{.addresses = {},
                         .ready = flag(member(conditions, "ready"), true),
                         .terminating = flag(member(conditions, "terminating"), false),
                         .pod_name = {},
                         .pod_uid = {}};
  if (auto const& addresses = member(json, "addresses"); addresses.is_array()) {
    for (auto const& address : addresses) {
      endpoint.addresses.push_back(text(address));
    }
  }
  auto const& target = member(json, "targetRef");
  if (text(member(target, "kind")) == "Pod") {
    endpoint.pod_name = text(member(target, "name"));
    endpoint.pod_uid = text(member(target, "uid"));
  }
  return endpoint;
}

Slice slice_of(Json const& json) {
  Slice slice{.name = text(member(member(json, "metadata"), "name")), .ports = {}, .endpoints = {}};
  if (auto const& ports = member(json, "ports"); ports.is_array()) {
    for (auto const& port : ports) {
      auto const& number = member(port, "port");
      if (number.is_number_unsigned() && number.get<std::uint64_t>() <= kMostPort) {
        slice.ports.push_back({text(member(port, "name")), number.get<std::uint16_t>()});
      }
    }
  }
  if (auto const& endpoints = member(json, "endpoints"); endpoints.is_array()) {
    for (auto const& endpoint : endpoints) {
      slice.endpoints.push_back(endpoint_of(endpoint));
    }
  }
  return slice;
}

}  // namespace

bool SliceReader::take_list(std::string_view body) {
  forget_all();
  return take_page(body);
}

bool SliceReader::take_page(std::string_view body) {
  auto const list = json::parsed<Json>(body);
  auto const& items = member(list, "items");
  auto const& metadata = member(list, "metadata");
  auto version = text(member(metadata, "resourceVersion"));
  // An empty list may leave the array out.
  if (version.empty() || !(items.is_array() || items.is_null())) {
    return false;
  }
  resource_version_ = std::move(version);
  next_page_ = text(member(metadata, "continue"));
  for (auto const& item : items) {
    found(slice_of(item));
  }
  return true;
}

bool SliceReader::take_change(std::string_view line) {
  auto const change = json::parsed<Json>(line);
  auto const type = text(member(change, "type"));
  auto const& object = member(change, "object");
  auto const& metadata = member(object, "metadata");
  auto version = text(member(metadata, "resourceVersion"));
  if (type == "BOOKMARK" && !version.empty()) {
    resource_version_ = std::move(version);
    return true;
  }
  auto const name = text(member(metadata, "name"));
  if ((type != "ADDED" && type != "MODIFIED" && type != "DELETED") || name.empty()) {
    return false;
  }
  resource_version_ = std::move(version);
  if (type == "DELETED") {
    gone(name);
  } else {
    found(slice_of(object));
  }
  return true;
}

}  // namespace lastcall::discovery::kubernetes
