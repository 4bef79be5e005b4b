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
  watch_forks(*this);
}

Session::~Session() {
  unwatch_forks(*this);
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
