// What a process has sent and nobody has received yet: it is received before anything is done that
// comes after it.
//
// Rules:
//  1. The end of a process is reported once all of its connections were received, those that wait
//     to be accepted included: requests that it announced just before are known then.
//  2. A hello that resumes requests is passed on once the earlier connections of its process were
//     received, their ends included, because the requests are looked up among those that these
//     left. The loop may see connections in another order than the process made them.
//  3. Connections are received in their own turns. Whoever needs them looks at all of them first,
//     then waits for all at once, works in slices as well, and keeps the place that it had.
//  4. Of each connection it waits for what is there when it looks. So strangers that go on writing,
//     which are among them where the kernel does not tell processes apart, cost one round.
//
// Thread rule: the thread that runs the io_context. Source: docs/ipc.md, turns.hpp.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "ipc/listeners.hpp"
#include "ipc/peers.hpp"
#include "ipc/turns.hpp"

namespace lastcall::ipc {

class LastWords : public std::enable_shared_from_this<LastWords> {
 public:
  struct Handlers {
    std::function<void(PeerId)> closed;  // its stream was received to the end
    std::function<void(PeerId)> gone;    // its process has ended, and everything was received
  };

  /// The peers and the listeners outlive it.
  LastWords(Peers const& peers, Listeners& listeners, std::shared_ptr<Turns> turns,
            Handlers handlers);

  /// The process of this peer has ended.
  void process_ended(Peer const& peer);
  /// Calls `then` in a later turn, and holds the peer's lines until then; false if its process has
  /// no earlier connection.
  bool before_hello(Peer const& peer, std::function<void()> then);

 private:
  class Rest;
  class RestOfTheDead;
  class RestBeforeHello;

  Peers const& peers_;
  Listeners& listeners_;
  std::shared_ptr<Turns> turns_;
  Handlers handlers_;
  std::map<Origin, std::shared_ptr<RestOfTheDead>> dead_;  // whose ends are to be reported
};

}  // namespace lastcall::ipc
