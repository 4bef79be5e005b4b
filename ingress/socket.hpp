// The few socket calls of the proxy, non-blocking, with their traps handled in one place.
//
// Thread rule: none. Source: tcp(7), unix(7), connect(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/descriptor.hpp"
#include "base/resolve.hpp"
#include "base/socket_address.hpp"

namespace lastcall::ingress {

/// A descriptor that can also be reset.
class Socket : public Descriptor {
 public:
  using Descriptor::Descriptor;

  void close() { reset(); }
  /// Closes it with a reset instead of an orderly end, which the other side could mistake for
  /// success.
  void abort();
};

using Endpoint = SocketAddress;

/// Finds the engine's addresses: the addresses of a host and port (a name is looked up now, and may
/// have several), or a Unix socket. Returns the text of an error, or an empty one.
std::string resolve(std::string const& host, std::uint16_t port, std::vector<Endpoint>& endpoints);
std::string resolve_unix(std::string const& path, std::vector<Endpoint>& endpoints);

enum class Io : std::uint8_t { some, would_block, ended, broken };
struct IoResult {
  Io io = Io::would_block;
  std::size_t size = 0;
};

IoResult read_some(Socket const& socket, std::span<char> into);
IoResult write_some(Socket const& socket, std::string_view bytes);

/// `no_room`: the queue of a Unix socket is full, and nothing reports when it has room again; the
/// same call with the same socket tries again.
enum class Connect : std::uint8_t { done, under_way, no_room, failed };
/// Makes a socket if there is none.
Connect begin_connect(Endpoint const& endpoint, Socket& socket);
/// Call it once the socket is writable.
bool has_connected(Socket const& socket);
/// Whether neither bytes nor an end wait to be read, so that the other side has not closed the
/// connection.
bool is_quiet(Socket const& socket);
/// Ends the output; input is still read.
void end_output(Socket const& socket);

/// Sets options that accepted sockets inherit, tcp(7): they send at once, and a client that
/// vanishes without an end or a reset (a lost node, a NAT that has dropped its entry) is detected
/// after about 90 s of silence.
void prepare_for_clients(int listening);

/// From now on a listening socket answers no new attempt to connect, while handshakes that have
/// begun are completed. Without this, a client that connects between the last accept() and the
/// close() is reset.
void take_no_newcomers(int listening);

enum class Accept : std::uint8_t { accepted, none, no_room };
Accept accept_one(Socket const& listener, Socket& accepted, std::string& address);

}  // namespace lastcall::ingress
