#include "ipc/process_watch.hpp"

#include <utility>

#include <boost/asio/post.hpp>
#include <poll.h>

namespace lastcall::ipc {

ProcessWatch::ProcessWatch(boost::asio::io_context& io, PeerProcess process)
    : pidfd_(io), is_watched_(process.is_watched()) {
  if (process.pidfd) {
    pidfd_.assign(process.pidfd.release());
  }
}

void ProcessWatch::start(std::function<void()> ended) {
  if (pidfd_.is_open()) {
    wait(std::move(ended));
  } else if (is_watched_) {
    boost::asio::post(pidfd_.get_executor(), [this, call = std::move(ended)] {
      if (is_watched_) {
        call();
      }
    });
  }
}

void ProcessWatch::wait(std::function<void()> ended) {
  pidfd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, call = std::move(ended)](boost::system::error_code const& error) {
                      if (error || !is_watched_) {
                        return;
                      }
                      // Asio may hand us the event of a descriptor that was closed in the same
                      // turn: it uses the memory again in which that event waits.
                      if (!has_ended()) {
                        return wait(call);
                      }
                      call();
                    });
}

bool ProcessWatch::has_ended() {
  pollfd pidfd{pidfd_.native_handle(), POLLIN, 0};
  return ::poll(&pidfd, 1, 0) > 0;
}

void ProcessWatch::stop() {
  is_watched_ = false;
  boost::system::error_code ignored;
  pidfd_.close(ignored);
}

}  // namespace lastcall::ipc
