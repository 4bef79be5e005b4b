// Requests to an API server, one after the other.
//
// Rules: a list is read to its end, in pages; a watch ends by its deadline, or when the caller ends
// it. If a plugin gives the credential, a refused credential is fetched again once.
//
// Thread rule: one thread; interrupt() from any, if no plugin gives the credential. Source: the
// Kubernetes API, 'Efficient detection of changes'; RFC 6902 for patches.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "discovery/http_client.hpp"
#include "supervisor/kube/access.hpp"
#include "supervisor/kube/json.hpp"

namespace lastcall::kube {

using discovery::TimePoint;

struct Answer {
  int status = 0;  // 0: there is no answer
  std::string body;
  std::string error;  // why there is no answer with 200 or 201

  bool is_good() const { return error.empty(); }
  /// Discarded if the body is not JSON or exceeds the limits of base/json_limits.hpp.
  Json json() const { return json::parsed<Json>(body); }
};

struct ListAnswer {
  std::vector<Json> items;
  std::string version;  // where a watch continues
  std::string error;
};

enum class WatchEnd : std::uint8_t {
  time_over,  // or the server ended it: it can continue from `version`
  enough,     // the caller ended it
  too_old,    // changes were missed: everything has to be listed again
  failed,
};

struct Watched {
  WatchEnd end = WatchEnd::time_over;
  std::string error{};  // why it failed
};

class ApiServer {
 public:
  explicit ApiServer(Access access);

  /// "/api/v1/namespaces/NAMESPACE/pods" and the like.
  std::string path(std::string const& group, std::string const& rest) const;

  Answer get(std::string const& path, std::chrono::milliseconds patience);
  /// Adds an object to the collection that is at the path.
  Answer create(std::string const& path, Json const& object, std::chrono::milliseconds patience);
  /// `operations` are the operations of a JSON Patch.
  Answer patch(std::string const& path, Json const& operations, std::chrono::milliseconds patience);
  ListAnswer list(std::string const& path, std::string const& query);
  /// `take` gets the type of a change and its object, and returns false to end the watch. `version`
  /// is updated.
  Watched watch(std::string const& path, std::string const& query, std::string& version,
                TimePoint until, std::function<bool(std::string const&, Json const&)> const& take);

  /// Ends the current call, and each later one at once.
  void interrupt() { client_->interrupt(); }

 private:
  Answer ask(discovery::HttpRequest const& request, std::chrono::milliseconds patience);
  discovery::HttpReply send(discovery::HttpRequest const& request, TimePoint deadline);
  Answer to_answer(discovery::HttpRequest const& request, discovery::HttpReply reply) const;
  /// Fetches the credential again; returns why it could not, or an empty text.
  std::string renew();

  Access access_;
  std::unique_ptr<discovery::HttpClient> client_;
  bool has_credential_;
};

/// Escapes a text for use in a query.
std::string escaped(std::string const& text);

}  // namespace lastcall::kube
