#include "shim/prestop.hpp"

#include <algorithm>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/socket_address.hpp"
#include "shim/line_buffer.hpp"
#include "shim/log.hpp"
#include "shim/messages.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kAwayFor{5'000};
constexpr Duration kRetry{50};
constexpr Duration kKeptBack{5'000};
constexpr std::int64_t kLongestWait = 3'600'000;  // ms

/// One connection of a call, from its first line to the answer.
class PrestopCall {
 public:
  enum class End : unsigned char { returned, refused, away, out_of_time };

  PrestopCall(Options const& options, Instant give_up_at)
      : path_(options.socket), hook_(options.prestop), give_up_at_(give_up_at) {}
  ~PrestopCall() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  PrestopCall(PrestopCall const&) = delete;
  PrestopCall& operator=(PrestopCall const&) = delete;

  End run() {
    if (!open() || !ask()) {
      error_ = errno;
      return error_ == EAGAIN ? End::out_of_time : End::away;
    }
    for (;;) {
      End end = End::away;
      if (has_answer(end)) {
        return end;
      }
      if (!wait_for_input()) {
        return End::out_of_time;
      }
      ssize_t const count = recv(fd_, in_.space(), in_.space_size(), 0);
      if (count > 0) {
        in_.added(static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        error_ = count == 0 ? ECONNRESET : errno;
        return End::away;
      }
    }
  }

  bool was_welcomed() const { return welcomed_; }
  int error() const { return error_; }
  char const* path() const { return path_; }

 private:
  bool open() {
    SocketAddress const address = unix_address(path_);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd_ >= 0 && limit_connect() && connect(fd_, address.get(), address.size) == 0;
  }

  /// While the queue of the supervisor's socket is full, connect(2) waits for this long; then it
  /// fails with EAGAIN.
  bool limit_connect() const {
    std::int64_t const left = std::clamp<std::int64_t>(left_ms(), 1, kLongestWait);
    timeval const limit{left / 1000, left % 1000 * 1000};
    return setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
  }

  std::int64_t left_ms() const { return (give_up_at_ - monotonic_now()).count(); }

  bool ask() {
    TextOf<512> lines;
    lines << R"({"op":"hello","version":)" << kProtocolVersion
          << R"(,"role":"hook","name":"preStop","sdk":"shim/)" << LASTCALL_VERSION << "\"}\n"
          << R"({"op":"prestop","seq":1,"container":")" << hook_ << "\"}\n";
    return send(fd_, lines.view().data(), lines.view().size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(lines.view().size());
  }

  bool has_answer(End& end) {
    while (auto const line = in_.next_line()) {
      Decoded const decoded = decode(*line);
      Order const& order = decoded.order;
      if (order.op == Op::welcome) {
        welcomed_ = true;
      } else if (order.op == Op::ack && order.seq == 1) {
        end = End::returned;
        return true;
      } else if (order.op == Op::error) {
        error_ = EBUSY;
        end = order.busy ? End::away : End::refused;
        if (!order.busy) {
          LogLine() << "preStop: the supervisor refused the call: " << *line;
        }
        return true;
      }
    }
    in_.compact();
    return false;
  }

  /// Returns false if the time is up.
  bool wait_for_input() const {
    for (;;) {
      std::int64_t const left = std::min(left_ms(), kLongestWait);
      if (left <= 0) {
        return false;
      }
      pollfd input{fd_, POLLIN, 0};
      if (poll(&input, 1, static_cast<int>(left)) > 0) {
        return true;
      }
    }
  }

  char const* path_;
  std::string_view hook_;
  Instant give_up_at_;
  int fd_ = -1;
  int error_ = 0;
  bool welcomed_ = false;
  LineBuffer in_;
};

/// The time at which the engine has to get its stop signal, whatever the answers are.
Instant latest_return(Options const& options, Instant now) {
  if (!options.declared_grace) {
    return Instant::max();
  }
  Duration const grace = *options.declared_grace;
  return now + std::max(grace - kKeptBack, grace / 2);
}

}  // namespace

int call_prestop(Options const& options) {
  Instant const began = monotonic_now();
  Instant const give_up_at = latest_return(options, began);
  Instant away_until = began + kAwayFor;
  for (;;) {
    PrestopCall call(options, give_up_at);
    PrestopCall::End const end = call.run();
    Instant const now = monotonic_now();
    if (call.was_welcomed()) {
      away_until = now + kAwayFor;
    }
    switch (end) {
      case PrestopCall::End::returned:
        return 0;
      case PrestopCall::End::refused:
        return kExitFatal;
      case PrestopCall::End::out_of_time:
        LogLine() << "preStop: the pod's grace is nearly used up; the stop signal may come";
        return kExitFatal;
      case PrestopCall::End::away:
        if (now >= std::min(away_until, give_up_at)) {
          LogLine() << "preStop: no supervisor at " << call.path() << " as uid "
                    << std::int64_t{getuid()} << ": " << error_text(call.error());
          return kExitFatal;
        }
        poll(nullptr, 0, static_cast<int>(kRetry.count()));
        break;
    }
  }
}

}  // namespace lastcall::shim
