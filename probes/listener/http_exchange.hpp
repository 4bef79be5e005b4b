// One HTTP exchange in memory: the bytes of a request head in, the bytes of the answer out.
//
// Invariants:
//  1. cpp-httplib reads and writes memory only; it sees no socket, no clock and no thread.
//  2. The request's body is never read, and never compressed is what is answered: compressors want
//     more memory than this process has in all.
//  3. An exception of the handler becomes a 500 that tells the client nothing of it.
//
// Thread rule: one thread at a time. Source: RFC 9112.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "probes/listener/listener.hpp"

namespace lastcall::probes {

class HttpExchange {
 public:
  /// No reply means "not yet": the answer's bytes are then empty.
  using Answer = std::function<std::optional<Reply>(Request const&)>;

  HttpExchange();
  ~HttpExchange();

  /// `head` ends with the empty line. Malformed heads are answered without asking `answer`.
  std::string run(std::string_view head, Answer const& answer);

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace lastcall::probes
