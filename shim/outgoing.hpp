// Lines on their way to the supervisor, and a descriptor that goes with the first of them.
//
// Rule: nothing waits; bytes that the socket does not accept now are sent the next time.
// Source: unix(7), 'SCM_RIGHTS'.
#pragma once

#include <cstddef>
#include <string_view>

#include <sys/types.h>

#include "shim/text.hpp"

namespace lastcall::shim {

class Outgoing {
 public:
  enum class Sent : unsigned char {
    as_far_as_it_goes,
    other_side_is_gone,  // its last lines may still be read
    broken,              // the connection must be closed, because the lines would stay missing
  };

  Outgoing() = default;
  ~Outgoing() { pass(-1); }
  Outgoing(Outgoing const&) = delete;
  Outgoing& operator=(Outgoing const&) = delete;

  /// Append whole lines here.
  Text& lines() { return lines_; }
  bool is_empty() const { return lines_.view().empty(); }
  std::size_t waiting() const { return lines_.view().size(); }
  /// The descriptor is sent with the first bytes and then closed; -1 for none.
  void pass(int descriptor);

  Sent send(int socket);
  void clear();

 private:
  ssize_t send_pending(int socket, std::string_view pending);

  int passed_ = -1;
  std::size_t sent_ = 0;  // number of bytes of lines_ that were sent
  TextOf<16 * 1024> lines_;
};

}  // namespace lastcall::shim
