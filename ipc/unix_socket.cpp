#include "ipc/unix_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/error_text.hpp"
#include "base/socket_address.hpp"

namespace lastcall::ipc {
namespace {

// SO_PEERPIDFD, since Linux 6.5; older headers do not define it.
constexpr int kSoPeerPidfd = 77;
constexpr mode_t kDirectoryMode = 02770;
constexpr mode_t kParentMode = 0755;
constexpr int kFullBacklogPauseMs = 20;

std::string cannot(std::string const& what, std::string const& path, std::string const& why) {
  return "cannot " + what + " " + path + ": " + why;
}

bool fits(std::string const& path) {
  return !path.empty() && path.size() <= kLongestSocketPath;
}

std::string bad_length(std::string const& path) {
  return path.empty()
             ? "the path is empty"
             : "the path has " + std::to_string(path.size()) +
                   " bytes, a Unix socket's has at most " + std::to_string(kLongestSocketPath);
}

std::string directory_of(std::string const& path) {
  std::size_t const slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Makes the missing parts of `directory`; existing parts keep the mode that their owner chose.
std::optional<std::string> make_directory(std::string const& directory) {
  for (std::size_t at = 1; at <= directory.size(); ++at) {
    if (at != directory.size() && directory[at] != '/') {
      continue;
    }
    bool const is_last = at == directory.size();
    std::string const part = directory.substr(0, at);
    if (::mkdir(part.c_str(), kParentMode) == 0) {
      // chmod is needed because mkdir ignores the setgid bit and applies the umask.
      if (is_last && ::chmod(part.c_str(), kDirectoryMode) != 0) {
        return cannot("set the mode of directory", part, error_text(errno));
      }
    } else if (errno != EEXIST && (is_last || (errno != EROFS && errno != EACCES))) {
      return cannot("create directory", part, error_text(errno));
    }
  }
  return std::nullopt;
}

std::string kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a file";
    case S_IFDIR:
      return "a directory";
    case S_IFLNK:
      return "a link";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

/// Whether a user other than ours and root may add or remove files there.
bool is_shared(std::string const& directory) {
  struct stat facts {};
  bool const is_known = ::stat(directory.c_str(), &facts) == 0;
  return is_known && ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
                      (facts.st_uid != 0 && facts.st_uid != ::geteuid()));
}

/// Removes the file, or renames it if it may hold data.
std::optional<std::string> clear_away(std::string const& path, struct stat const& file,
                                      std::string& cleared) {
  std::string const what = kind_of(file.st_mode) + " of uid " + std::to_string(file.st_uid);
  if (!S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode)) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return cannot("remove what is at", path, error_text(errno));
    }
    cleared = "removed " + what + " that was at " + path + ", where the socket must be";
    return std::nullopt;
  }
  std::uint32_t drawn = 0;
  (void)::getrandom(&drawn, sizeof drawn, 0);
  std::string const aside = path + ".aside-" + std::to_string(drawn);
  if (::rename(path.c_str(), aside.c_str()) != 0 && errno != ENOENT) {
    return cannot("move aside what is at", path, error_text(errno));
  }
  cleared = "moved " + what + " that was at " + path + ", where the socket must be, to " + aside;
  return std::nullopt;
}

/// Why nobody answers at a path that exists: the kernel refuses a file that is no socket alike.
std::string why_refused(std::string const& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 && !S_ISSOCK(file.st_mode)
             ? "it is " + kind_of(file.st_mode) + ", not a socket"
             : "nobody listens there; has `lastcall serve` ended?";
}

std::string why_unknown(int error, std::string const& path) {
  return error == 0 || error == EAGAIN
             ? cannot("listen on", path,
                      "another process listens there; is lastcall running already?")
             : cannot("determine whether a process still listens on", path, error_text(error));
}

/// Frees `path`; returns an error text if that is not allowed.
std::optional<std::string> make_room(std::string const& path, SocketAddress const& address,
                                     Squatters squatters, std::string& cleared) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) {
    return errno == ENOENT ? std::nullopt
                           : std::optional(cannot("listen on", path, error_text(errno)));
  }
  if (!S_ISSOCK(file.st_mode)) {
    return squatters == Squatters::cleared
               ? clear_away(path, file, cleared)
               : std::optional(cannot("listen on", path,
                                      "the file there is not a socket; remove it or choose "
                                      "another path"));
  }
  Descriptor const probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) {
    return cannot("listen on", path, error_text(errno));
  }
  int const error = ::connect(probe.get(), address.get(), address.size) == 0 ? 0 : errno;
  if (error == ECONNREFUSED) {
    return ::unlink(path.c_str()) == 0 || errno == ENOENT
               ? std::nullopt
               : std::optional(cannot("remove the stale socket", path, error_text(errno)));
  }
  // A live socket of our user or of root may belong to another lastcall.
  bool const is_live = error == 0 || error == EAGAIN;
  bool const may_be_ours = is_live && (file.st_uid == 0 || file.st_uid == ::geteuid());
  return squatters == Squatters::refused || may_be_ours ? std::optional(why_unknown(error, path))
                                                        : clear_away(path, file, cleared);
}

/// Sets the mode of the file that bind made, whatever the umask removed from it, and of no other
/// file: a link that was swapped in is not followed. We do not change the umask, because all
/// threads share it.
int set_mode(mode_t mode, SocketFile& made) {
  Descriptor const file(::open(made.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) {
    return errno;
  }
  if (!S_ISSOCK(facts.st_mode)) {
    return EADDRINUSE;
  }
  made.device = facts.st_dev;
  made.inode = facts.st_ino;
  std::string const itself = "/proc/self/fd/" + std::to_string(file.get());
  bool const is_set = (facts.st_mode & 07777) == mode || ::chmod(itself.c_str(), mode) == 0;
  return is_set ? 0 : errno;
}

/// Here the directory of the socket exists, so only /proc may be what is missing.
std::string why_not_bound(int error) {
  return error == ENOENT && ::access("/proc/self/fd", F_OK) != 0
             ? "/proc is not mounted, expected it, because the socket's mode is set through it"
             : error_text(error);
}

/// The error is an errno; EADDRINUSE if another process bound that name first.
std::variant<Listening, int> bind_to(std::string const& path, SocketAddress const& address,
                                     mode_t mode) {
  Listening made{.fd = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
                 .file = {path, 0, 0},
                 .cleared = {}};
  int const fd = made.fd.get();
  // The mode is set before bind, so that others are kept out from the first moment on.
  if (!made.fd || ::fchmod(fd, mode) != 0 || ::bind(fd, address.get(), address.size) != 0) {
    return errno;
  }
  if (int const error = set_mode(mode, made.file); error != 0) {
    return error;
  }
  if (::listen(fd, kBacklog) != 0) {
    return errno;
  }
  return made;
}

/// Since Linux 6.9 the pidfd of each process has an inode of its own; before, all share one.
ino_t process_id(int pidfd) {
  constexpr decltype(statfs::f_type) kPidfs = 0x50494446;
  struct statfs system {};
  struct stat file {};
  bool const is_own = ::fstatfs(pidfd, &system) == 0 && system.f_type == kPidfs;
  return is_own && ::fstat(pidfd, &file) == 0 ? file.st_ino : 0;
}

}  // namespace

void remove_socket_file(SocketFile const& file) {
  struct stat now {};
  if (::lstat(file.path.c_str(), &now) == 0 && now.st_dev == file.device &&
      now.st_ino == file.inode) {
    ::unlink(file.path.c_str());
  }
}

std::optional<std::string> make_directories(std::string const& one, std::string const& other) {
  std::array paths{&one, &other};
  std::ranges::sort(paths, {}, [](std::string const* path) { return directory_of(*path).size(); });
  for (std::string const* const path : paths) {
    if (!path->empty()) {
      if (auto problem = make_directory(directory_of(*path))) {
        return problem;
      }
    }
  }
  return std::nullopt;
}

std::variant<Descriptor, std::string> lock_beside(std::string const& path) {
  std::string const directory = directory_of(path);
  if (auto problem = make_directory(directory)) {
    return *problem;
  }
  Descriptor lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) {
    return cannot("open directory", directory, error_text(errno));
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return cannot("listen on", path, "another process is about to listen there");
  }
  return lock;
}

std::variant<Listening, std::string> listen_on(std::string const& path, mode_t mode,
                                               Squatters squatters) {
  if (!fits(path)) {
    return cannot("listen on", path, bad_length(path));
  }
  SocketAddress const address = unix_address(path);
  std::string const directory = directory_of(path);
  if (auto problem = make_directory(directory)) {
    return *problem;
  }
  if (!is_shared(directory)) {
    squatters = Squatters::refused;
  }
  constexpr int kTries = 5;
  std::string cleared;
  int error = 0;
  for (int i = 0; i < kTries; ++i) {
    if (auto problem = make_room(path, address, squatters, cleared)) {
      return *problem;
    }
    auto made = bind_to(path, address, mode);
    if (auto* const listening = std::get_if<Listening>(&made)) {
      listening->cleared = std::move(cleared);
      return std::move(*listening);
    }
    error = std::get<int>(made);
    if (error != EADDRINUSE) {
      break;
    }
  }
  return cannot("listen on", path, why_not_bound(error));
}

std::variant<Descriptor, std::string> connect_to(std::string const& path,
                                                 std::optional<std::chrono::milliseconds> limit) {
  if (!fits(path)) {
    return cannot("connect to", path, bad_length(path));
  }
  SocketAddress const address = unix_address(path);
  auto const until =
      limit ? std::optional(std::chrono::steady_clock::now() + *limit) : std::nullopt;
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  while (fd) {
    if (::connect(fd.get(), address.get(), address.size) == 0) {
      ::fcntl(fd.get(), F_SETFL, 0);
      return fd;
    }
    if (errno != EAGAIN) {
      break;
    }
    if (until && std::chrono::steady_clock::now() >= *until) {
      return cannot("connect to", path, "it does not answer, and too many connections wait for it");
    }
    ::poll(nullptr, 0, kFullBacklogPauseMs);  // no event reports a free place in the queue
  }
  switch (errno) {
    case ENOENT:
      return cannot("connect to", path, "no such file; is `lastcall serve` running here?");
    case ECONNREFUSED:
      return cannot("connect to", path, why_refused(path));
    case EACCES:
      return cannot("connect to", path, "permission denied for uid " + std::to_string(::geteuid()));
    case EPROTOTYPE:
    case ENOTSOCK:
      return cannot("connect to", path, "it is not a stream socket");
    default:
      return cannot("connect to", path, error_text(errno));
  }
}

std::optional<Credentials> peer_credentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::nullopt;
  }
  return Credentials{peer.pid, peer.uid};
}

PeerProcess peer_process(int fd) {
  int pidfd = -1;
  socklen_t size = sizeof(pidfd);
  if (::getsockopt(fd, SOL_SOCKET, kSoPeerPidfd, &pidfd, &size) == 0) {
    return {Descriptor(pidfd), false, process_id(pidfd)};  // made close-on-exec
  }
  // Some kernels return ESRCH, and some EINVAL, for a process that was reaped before we asked.
  return {Descriptor(), errno == ESRCH || errno == EINVAL, 0};
}

}  // namespace lastcall::ipc
