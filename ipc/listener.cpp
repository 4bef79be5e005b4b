#include "ipc/listener.hpp"

#include <cerrno>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error_text.hpp"

namespace lastcall::ipc {

using boost::asio::posix::stream_descriptor;

class Listener::Impl : public std::enable_shared_from_this<Listener::Impl> {
 public:
  Impl(boost::asio::io_context& io, Handlers handlers)
      : socket_(io), pause_(io), handlers_(std::move(handlers)) {}

  std::optional<std::string> open(std::string const& path, mode_t mode, Squatters squatters) {
    auto made = listen_on(path, mode, squatters);
    if (auto* const problem = std::get_if<std::string>(&made)) {
      return std::move(*problem);
    }
    auto& listening = std::get<Listening>(made);
    if (!listening.cleared.empty()) {
      handlers_.trouble(std::move(listening.cleared));
    }
    mode_ = mode;
    file_ = listening.file;
    socket_.assign(listening.fd.release());
    wait();
    return std::nullopt;
  }

  std::string follow() {
    if (!socket_.is_open() || is_in_place()) {
      problem_.clear();
      return {};
    }
    if (auto problem = open_again()) {
      return *problem == std::exchange(problem_, *problem) ? std::string() : problem_;
    }
    problem_.clear();
    return file_.path + " was removed or replaced: listening there again";
  }

  /// Ignores errors: the listener's next regular turn handles them.
  bool accept_one_now() {
    Descriptor peer(socket_.is_open() ? accept_one() : -1);
    if (!peer) {
      return false;
    }
    handlers_.accepted(std::move(peer));
    return true;
  }

  void close() {
    if (!socket_.is_open()) {
      return;
    }
    remove_socket_file(file_);
    boost::system::error_code ignored;
    socket_.close(ignored);
    pause_.cancel();
  }

 private:
  bool is_in_place() const {
    struct stat now {};
    return ::stat(file_.path.c_str(), &now) == 0 && now.st_dev == file_.device &&
           now.st_ino == file_.inode;
  }

  std::optional<std::string> open_again() {
    auto made = listen_on(file_.path, mode_);
    if (auto* const problem = std::get_if<std::string>(&made)) {
      return std::move(*problem);
    }
    for (int left = kBacklog + 1; left > 0 && accept_one_now(); --left) {
    }
    boost::system::error_code ignored;
    socket_.close(ignored);
    pause_.cancel();
    auto& listening = std::get<Listening>(made);
    file_ = listening.file;
    socket_.assign(listening.fd.release());
    wait();
    return std::nullopt;
  }

  void wait() {
    socket_.async_wait(stream_descriptor::wait_read,
                       [self = shared_from_this()](boost::system::error_code const& error) {
                         if (!error) {
                           self->accept_some();
                         }
                       });
  }

  int accept_one() {
    return ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  }

  void accept_some() {
    constexpr int kAtOnce = 16;  // then other work of the loop has its turn
    for (int i = 0; i < kAtOnce && socket_.is_open(); ++i) {
      Descriptor peer(accept_one());
      if (peer) {
        has_complained_ = false;
        handlers_.accepted(std::move(peer));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != ECONNABORTED && errno != EINTR) {
        return rest(errno);
      }
    }
    if (socket_.is_open()) {
      wait();
    }
  }

  void rest(int problem) {
    if (!has_complained_) {
      has_complained_ = true;
      handlers_.trouble("cannot accept on " + file_.path + ": " + error_text(problem) +
                        "; trying again every " + std::to_string(kAcceptPause.count()) + " ms");
    }
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](boost::system::error_code const& error) {
      if (!error && self->socket_.is_open()) {
        self->accept_some();
      }
    });
  }

  stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  Handlers handlers_;
  SocketFile file_;
  mode_t mode_{};
  std::string problem_;  // why follow() failed last
  bool has_complained_{};
};

Listener::Listener(boost::asio::io_context& io, Handlers handlers)
    : impl_(std::make_shared<Impl>(io, std::move(handlers))) {}

Listener::~Listener() {
  impl_->close();
}

std::optional<std::string> Listener::open(std::string const& path, mode_t mode,
                                          Squatters squatters) {
  return impl_->open(path, mode, squatters);
}

std::string Listener::follow() {
  return impl_->follow();
}

bool Listener::accept_one_now() {
  return impl_->accept_one_now();
}

void Listener::close() {
  impl_->close();
}

}  // namespace lastcall::ipc
