#include "router/name_lookups.hpp"

#include <mutex>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/thread.hpp"
#include "config/text.hpp"

namespace lastcall::router {

namespace asio = boost::asio;

struct NameLookups::Board {
  std::mutex mutex;
  asio::io_context* io = nullptr;  // null: no caller waits any more
};

NameLookups::NameLookups(asio::io_context& io) : board_(std::make_shared<Board>()) {
  board_->io = &io;
}

NameLookups::~NameLookups() {
  std::lock_guard const lock(board_->mutex);
  board_->io = nullptr;
}

void NameLookups::find(std::string const& host, std::uint16_t port, Done done) {
  // A thread's result is handled on the loop, because only there it is known whether this object
  // still exists.
  auto const give = [](std::shared_ptr<Board> const& board, Resolved found, Done const& to) {
    std::lock_guard const lock(board->mutex);
    if (board->io != nullptr) {
      asio::post(*board->io, [board, found = std::move(found), to] {
        if (board->io != nullptr) {
          to(found);
        }
      });
    }
  };
  bool const is_begun = start_detached_thread(
      "lookup", kSmallStack,
      [give, board = board_, host, port, done] { give(board, resolve(host, port), done); });
  if (!is_begun) {
    give(board_, {{}, "no thread can be started"}, done);
  }
}

Resolved known_address(std::string const& host, std::uint16_t port) {
  if (config::is_ip_literal(host)) {
    return resolve(host, port);
  }
  if (host != "localhost") {
    return {};
  }
  Resolved both = resolve("127.0.0.1", port);
  Resolved const v6 = resolve("::1", port);
  both.addresses.insert(both.addresses.end(), v6.addresses.begin(), v6.addresses.end());
  return both;
}

}  // namespace lastcall::router
