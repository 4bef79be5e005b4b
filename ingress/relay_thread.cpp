#include "ingress/relay_thread.hpp"

#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <pthread.h>

#include "base/signals_blocked.hpp"

namespace lastcall::ingress {

RelayThread::RelayThread(Options const& options, Shared const& shared, std::uint64_t first_serial,
                         ReportMailer::Mail mail)
    : io_(std::make_unique<boost::asio::io_context>(1)),
      mailer_(*io_, shared.ids, std::move(mail)),
      tracker_(mailer_, shared.ids),
      proxy_(std::make_unique<Proxy>(
          *io_, options, tracker_, shared.memory,
          Proxy::Owner{.client_left = [] {}, .ids = &tracker_, .first_serial = first_serial})) {}

RelayThread::~RelayThread() {
  io_->stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::string RelayThread::start(unsigned number) {
  SignalsBlocked const inherited;  // signals are for the main thread
  std::string problem;
  try {
    thread_ = std::thread([io = io_.get()] { io->run(); });
    pthread_setname_np(thread_.native_handle(), ("ingress-" + std::to_string(number)).c_str());
  } catch (std::system_error const& error) {
    problem = std::string("cannot start a thread: ") + error.what();
  }
  return problem;
}

void RelayThread::order(std::function<void(Proxy&)> order) {
  boost::asio::post(*io_, [this, order = std::move(order)] { order(*proxy_); });
}

void RelayThread::adopt(Accepted accepted) {
  boost::asio::post(*io_, [this, accepted = std::move(accepted)]() mutable {
    tracker_.adopted();
    proxy_->adopt(std::move(accepted));
  });
}

void RelayThread::engine_changed(EngineDoubt engine) {
  boost::asio::post(*io_, [this, engine] { tracker_.engine_changed(engine); });
}

void RelayThread::ask(std::function<void(bool is_flushed)> answer) {
  boost::asio::post(*io_, [this, answer = std::move(answer)] {
    mailer_.post();
    answer(proxy_->is_flushed());
  });
}

}  // namespace lastcall::ingress
