#include "sdk/cpp/session.hpp"

#include <cstdlib>
#include <utility>

#include <errno.h>

#include "sdk/cpp/clipped.hpp"
#include "sdk/cpp/fork_watch.hpp"

namespace lastcall::sdk {
namespace {

std::unique_ptr<Connection> connection_for(ClientOptions const& options) {
  char const* const given = std::getenv("LASTCALL_SOCKET");
  std::string path = options.socket.value_or(given == nullptr ? "" : given);
  return path.empty() ? nullptr : std::make_unique<Connection>(std::move(path));
}

ipc::Hello hello_of(ClientOptions const& options) {
  return {.role = ipc::Role::engine,
          .name = clipped(options.name.empty() ? program_invocation_short_name : options.name),
          .sdk = "cpp/" LASTCALL_VERSION,
          .critical = options.critical};
}

}  // namespace

Session::Session(ClientOptions options)
    : options_(std::move(options)),
      connection_(connection_for(options_)),
      protocol_(lock_, log_, hello_of(options_), connection_.get()) {
  if (connection_) {
    link_.emplace(lock_, log_, *connection_, protocol_);
  }
  watch_forks(*this);
}

Session::~Session() {
  unwatch_forks(*this);
}

void Session::start() {
  if (!is_enabled()) {
    return;
  }
  if (options_.report_uncaught) {
    failures_.watch_uncaught(connection_->path(), protocol_.hello());
  }
  protocol_.callbacks().belong_to(weak_from_this());
  link_->begin();
  if (options_.own_thread) {
    thread_.start([self = shared_from_this()] { self->link_->run_until_closed(); });
  }
}

void Session::process() {
  if (is_enabled()) {
    link_->process();
  }
}

bool Session::can_wait() const {
  return options_.own_thread && !thread_.is_current();
}

void Session::close(std::chrono::milliseconds at_most) {
  if (!is_enabled()) {
    lock_.locked([this](Later& later) { protocol_.end(later); });
    return;
  }
  link_->close_by(Clock::now() + at_most);
  if (!thread_.exists()) {
    link_->finish();
  } else if (!thread_.is_current()) {  // on it a callback closes, and the thread ends after it
    thread_.join();
  }
}

void Session::abandon_in_child() {
  if (connection_) {
    connection_->abandon();
  }
}

RequestContext Session::begin(RequestOptions options, Decided decided) {
  return protocol_.requests().begin(
      std::move(options), std::move(decided),
      std::shared_ptr<Owner>(shared_from_this(), &protocol_.requests()));
}

}  // namespace lastcall::sdk
