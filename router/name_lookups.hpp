// Looks up host names outside of the loop, each on a thread of its own, because getaddrinfo(3)
// blocks as long as the timeouts in resolv.conf allow, and cannot be interrupted.
//
// Rules:
//  1. `done` is called on the loop, once, and never after the destruction of this object.
//  2. A lookup that hangs is abandoned; its thread ends when the lookup does, or with the process.
//
// Thread rule: the loop's thread. Source: getaddrinfo(3).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/resolve.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class NameLookups {
 public:
  using Done = std::function<void(Resolved const& found)>;

  explicit NameLookups(boost::asio::io_context& io);
  ~NameLookups();
  NameLookups(NameLookups const&) = delete;
  NameLookups& operator=(NameLookups const&) = delete;

  void find(std::string const& host, std::uint16_t port, Done done);

 private:
  struct Board;
  std::shared_ptr<Board> board_;  // shared with the threads, which may outlive this
};

/// The result for numeric addresses and `localhost`, which need no lookup (RFC 6761); absent for
/// any other name.
Resolved known_address(std::string const& host, std::uint16_t port);

}  // namespace lastcall::router
