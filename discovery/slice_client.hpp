// Requests EndpointSlices from an API server: authenticates, selects the services, reads lists in
// pages, and watches for changes.
//
// Rules:
//  1. The token is read again for each request, because it is rotated.
//  2. If an answer is longer than the client accepts, pages become smaller, down to one slice.
//  3. discovery.k8s.io/v1beta1 is used if the server does not have v1.
//
// Thread rule: the thread of the registry's jobs. Source: the API's list chunking and watch.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "discovery/http_client.hpp"
#include "discovery/kubernetes_slices.hpp"

namespace lastcall::discovery {

struct ApiAccess {
  HttpServer server;
  std::string token_file;
};

class SliceClient {
 public:
  /// Without `services` it reads all slices of the namespace.
  SliceClient(ApiAccess access, std::string space, std::vector<std::string> services)
      : access_(std::move(access)), space_(std::move(space)), services_(std::move(services)) {}

  /// Sends any request, with the token.
  HttpReply ask(HttpClient& client, TimePoint deadline, HttpRequest request) const;
  /// Returns why it failed, or an empty text.
  std::string list(HttpClient& client, TimePoint deadline, kubernetes::SliceReader& slices);
  struct Span {
    TimePoint until;  // when the server should end it, in whole seconds
    TimePoint deadline;
  };
  struct Watched {
    HttpReply reply;
    bool is_stale = false;  // a change could not be followed
  };
  /// Watches from the version of `slices` on, until the server or the deadline ends it, a change
  /// cannot be followed, or `goes_on` returns false; it is called after each batch of changes.
  Watched watch(HttpClient& client, Span const& span, kubernetes::SliceReader& slices,
                std::function<bool()> const& goes_on) const;
  /// Whether the last list was too long even slice by slice, which is expensive and will not change
  /// soon.
  bool is_too_long() const { return is_too_long_; }
  void try_again() { is_too_long_ = false; }

 private:
  HttpReply ask_for_page(HttpClient& client, TimePoint deadline, std::string const& from);
  std::string path() const;

  ApiAccess const access_;
  std::string const space_;
  std::vector<std::string> const services_;
  int page_ = 50;  // slices; fewer after an answer that was too long
  bool is_too_long_ = false;
  bool is_beta_ = false;  // the server has discovery.k8s.io/v1beta1 only
};

}  // namespace lastcall::discovery
