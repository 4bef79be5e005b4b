// Unix sockets as the protocol needs them: paths, directories, stale files, and the peer's process.
//
// Rules:
//  1. Every descriptor is close-on-exec and non-blocking unless stated otherwise.
//  2. A socket that accepts a connection is live and is never removed, unless it is a squatter's;
//     one that refuses it is stale.
//  3. Errors are texts of the form "cannot X: Y"; nothing throws.
//
// No thread rule. Source: unix(7), flock(2), kernel net/unix/af_unix.c and net/core/sock.c.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace lastcall::ipc {

/// The backlog of listen(2); the kernel lets one more connection wait.
inline constexpr int kBacklog = 256;

/// A socket file that this process made; its identity distinguishes it from a file that another
/// process has put there since.
struct SocketFile {
  std::string path;
  dev_t device{};
  ino_t inode{};
};
/// Removes the file if it is still the same one.
void remove_socket_file(SocketFile const& file);

struct Listening {
  Descriptor fd;
  SocketFile file;
  std::string cleared;  // the file that was in its place, for the log; may be empty
};

/// The treatment of files that others have put at a socket's name. Only a file that is not a
/// socket, and a socket of a user other than ours and root, are cleared, and only in a directory
/// that others may write to.
enum class Squatters : std::uint8_t { refused, cleared };

/// Makes the missing directories of two sockets (setgid, 2770). Where one is in the other, the
/// outer one comes first: made as a parent it would have another mode. An empty path is passed
/// over.
std::optional<std::string> make_directories(std::string const& one, std::string const& other);

/// The lock is held while a process replaces stale sockets: two processes that both found one would
/// remove each other's new socket. `path` is in a directory that only such processes can open,
/// because a process that can open a directory can hold its lock. A missing directory is made.
std::variant<Descriptor, std::string> lock_beside(std::string const& path);

/// Makes the directory (setgid, 2770) if there is none, replaces a stale file, refuses a live one.
std::variant<Listening, std::string> listen_on(std::string const& path, mode_t mode,
                                               Squatters squatters = Squatters::refused);

/// Makes a blocking connection; the error names the reason. If the queue is full it waits, at most
/// for `limit` if there is one.
std::variant<Descriptor, std::string> connect_to(
    std::string const& path, std::optional<std::chrono::milliseconds> limit = std::nullopt);

struct Credentials {
  pid_t pid{};
  uid_t uid{};
};
std::optional<Credentials> peer_credentials(int fd);

struct PeerProcess {
  Descriptor pidfd;  // readable when the process has ended
  bool gone{};       // it has ended already
  ino_t id{};        // unique among all processes until the next boot; 0: the kernel has none
  bool is_watched() const { return gone || pidfd; }
};
/// The process that connected; its pidfd is empty if the kernel cannot report it (before 6.5).
PeerProcess peer_process(int fd);

}  // namespace lastcall::ipc
