// EndpointSlices as an API server lists them and reports their changes.
//
// Rules:
//  1. An endpoint without `ready` is ready, and one without `terminating` is not terminating, as
//     the API defines it.
//  2. After a change that cannot be read, or an error in its place (410: the version is too old),
//     the watch cannot continue: list again.
//  3. A bookmark changes only the version.
//
// Pure, no thread rule. Source: discovery.k8s.io/v1 and v1beta1; KEP-1672, KEP-956.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::discovery::kubernetes {

struct SlicePort {
  std::string name;
  std::uint16_t port = 0;
};

struct SliceEndpoint {
  std::vector<std::string> addresses;
  bool ready = true;
  bool terminating = false;
  std::string pod_name;  // name and uid are empty if it is not a pod
  std::string pod_uid;
};

struct Slice {
  std::string name;
  std::vector<SlicePort> ports;
  std::vector<SliceEndpoint> endpoints;
};

/// Reads the server's answers; the derived class decides what it keeps of them.
class SliceReader {
 public:
  SliceReader() = default;
  virtual ~SliceReader() = default;
  SliceReader(SliceReader const&) = delete;
  SliceReader& operator=(SliceReader const&) = delete;

  /// A list, or its first page; forgets what was received before. False if it is not a list of
  /// slices.
  bool take_list(std::string_view body);
  /// A further page.
  bool take_page(std::string_view body);
  /// One line of a watch. False if the watch cannot continue: list again.
  bool take_change(std::string_view line);

  /// The position of the next page; empty if there is none.
  std::string const& next_page() const { return next_page_; }
  std::string const& resource_version() const { return resource_version_; }

 private:
  virtual void forget_all() = 0;
  virtual void found(Slice const& slice) = 0;
  virtual void gone(std::string const& name) = 0;

  std::string resource_version_;
  std::string next_page_;
};

}  // namespace lastcall::discovery::kubernetes
