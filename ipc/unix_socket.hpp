// Unix sockets as the protocol needs them: paths, directories, stale files, the peer at the other
// end.
//
// Rules:
//  1. Every descriptor is close-on-exec and non-blocking unless stated otherwise.
//  2. A socket that answers a connect is live and is never removed, unless it is a squatter's;
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

/// A socket file that this process made; its identity distinguishes it from one that another
/// process put there since.
struct SocketFile {
  std::string path;
  dev_t device{};
  ino_t inode{};
};
/// Removes it if it is still the same one.
void remove_socket_file(SocketFile const& file);

struct Listening {
  Descriptor fd;
  SocketFile file;
  std::string cleared;  // the file in its place, for the log; may be empty
};

/// The treatment of files that others have put at a socket's name. Only these are cleared: a file
/// that is no socket, and a socket of another user than ours and root; and only in a directory into
/// which others may write.
enum class Squatters : std::uint8_t { refused, cleared };

/// Held while a process replaces stale sockets: two processes that both found one would remove each
/// other's new one. `path` lies in a directory that only those processes reach, because a process
/// that can open a directory can hold its lock; the directory is made if there is none.
std::variant<Descriptor, std::string> lock_beside(std::string const& path);

/// Makes the directory (setgid, 2770) if there is none, replaces a stale file, refuses a live one.
std::variant<Listening, std::string> listen_on(std::string const& path, mode_t mode,
                                               Squatters squatters = Squatters::refused);

/// Makes a blocking connection; the error names the reason. If the queue is full it waits, without
/// a limit only if there is none.
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
  ino_t id{};        // of this process and no other until the next boot; 0: the kernel has none
  bool is_watched() const { return gone || pidfd; }
};
/// The process that connected; not watched where the kernel cannot report it (before 6.5).
PeerProcess peer_process(int fd);

}  // namespace lastcall::ipc
