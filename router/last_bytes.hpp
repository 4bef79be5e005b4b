// Connections to workers whose answer is complete, although the end of its body has not arrived.
//
// An engine that writes a stream sends `[DONE]` first, and the end of the body a moment later. The
// client gets the end of its answer at once; the connection is kept for the next request as soon as
// the worker's end arrives, so that not every stream needs a new connection.
//
// Rules:
//  1. A connection is closed if it sends anything but the end of the body, or if that takes longer
//     than Wait::linger; and at once if kMost others wait.
//  2. Such a connection no longer counts as a request of its worker.
//
// Thread rule: the router's thread. Source: docs/router.md.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "relay/response_reader.hpp"
#include "router/fleet.hpp"

namespace lastcall::ingress {
class Upstream;
}

namespace lastcall::router {

struct Parts;

class LastBytes {
 public:
  static constexpr std::size_t kMost = 256;

  /// `parts` outlives this.
  explicit LastBytes(Parts& parts);
  ~LastBytes();

  /// `reader` is in the body of its response. The connection is released later.
  void await(ingress::Upstream& connection, relay::ResponseReader reader,
             std::shared_ptr<Worker> worker);

 private:
  class One;

  void end(One& one, bool keep);

  Parts& parts_;
  std::unordered_map<One*, std::unique_ptr<One>> all_;
};

}  // namespace lastcall::router
