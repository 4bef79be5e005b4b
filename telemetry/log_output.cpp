#include "telemetry/log_output.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lastcall::telemetry {
namespace {

/// The rest of a long line waits for its reader at most this often and this long each time.
constexpr int kMostWaits = 5;
constexpr int kWaitMs = 2;

}  // namespace

LogOutput::LogOutput(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    return;
  }
  if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::socket;
  } else if (S_ISFIFO(status.st_mode)) {
    std::string const path = "/proc/self/fd/" + std::to_string(fd);
    own_ = Descriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    kind_ = own_ ? Kind::own_pipe : Kind::other;
  }
}

bool LogOutput::write(std::string_view line) {
  if (is_torn_) {
    if (push("\n") == 0) {
      return false;
    }
    is_torn_ = false;
  }
  std::size_t done = push(line);
  if (done == 0) {
    return line.empty();
  }
  for (int waits = 0; done < line.size();) {
    std::size_t const taken = push(line.substr(done));
    done += taken;
    if (taken == 0 && (++waits > kMostWaits || !wait_for_room())) {
      is_torn_ = true;
      return false;
    }
  }
  return true;
}

std::size_t LogOutput::push(std::string_view bytes) const {
  ssize_t count = -1;
  do {
    switch (kind_) {
      case Kind::own_pipe:
        count = ::write(own_.get(), bytes.data(), bytes.size());
        break;
      case Kind::socket:
        count = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case Kind::other: {
        pollfd ready{fd_, POLLOUT, 0};
        bool const has_room = ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
        // A descriptor that poll(2) reports as writable takes PIPE_BUF bytes without blocking.
        count = has_room ? ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF))
                         : 0;
        break;
      }
    }
  } while (count < 0 && errno == EINTR);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

bool LogOutput::wait_for_room() const {
  pollfd ready{own_ ? own_.get() : fd_, POLLOUT, 0};
  return ::poll(&ready, 1, kWaitMs) >= 0 && (ready.revents & (POLLERR | POLLHUP)) == 0;
}

}  // namespace lastcall::telemetry
