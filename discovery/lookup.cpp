#include "discovery/lookup.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

#include "base/resolve.hpp"
#include "base/socket_address.hpp"
#include "base/thread.hpp"
#include "config/text.hpp"

namespace lastcall::discovery {

namespace {

constexpr std::size_t kMostAddresses = 8;
/// How long the result of a lookup that no caller waited for any more may still be used.
constexpr std::chrono::seconds kFresh{10};

Lookup::Found ask_the_system(std::string const& host) {
  Resolved const answer = resolve(host, 0);
  Lookup::Found found;
  for (SocketAddress const& one : answer.addresses) {
    std::array<char, NI_MAXHOST> text{};
    bool const is_text = ::getnameinfo(one.get(), one.size, text.data(), text.size(), nullptr, 0,
                                       NI_NUMERICHOST) == 0;
    if (is_text && found.addresses.size() < kMostAddresses) {
      found.addresses.emplace_back(text.data());
    }
  }
  if (found.addresses.empty()) {
    found.error = "cannot look up " + host + ": " +
                  (answer.error.empty() ? "it has no address" : answer.error);
  }
  return found;
}

}  // namespace

struct Lookup::Board {
  struct Entry {
    bool is_running = false;
    TimePoint ended;
    Found found;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Entry> entries;  // as many as the configuration has names
};

Lookup::Lookup() : board_(std::make_shared<Board>()) {}
Lookup::~Lookup() = default;

Lookup::Found Lookup::find(std::string const& host, TimePoint deadline,
                           std::atomic<bool> const& interrupted) {
  if (config::is_ip_literal(host)) {
    return {{host}, {}};
  }
  std::unique_lock lock(board_->mutex);
  auto& entry = board_->entries[host];
  bool const is_fresh =
      !entry.found.addresses.empty() && TimePoint::clock::now() < entry.ended + kFresh;
  if (!entry.is_running && !is_fresh) {
    entry.is_running = start_detached_thread("lookup", kSmallStack, [board = board_, host] {
      auto found = ask_the_system(host);
      std::lock_guard const locked(board->mutex);
      board->entries[host] = {false, TimePoint::clock::now(), std::move(found)};
      board->changed.notify_all();
    });
    if (!entry.is_running) {
      return {{}, "cannot look up " + host + ": no thread can be started"};
    }
  }
  board_->changed.wait_until(lock, deadline, [&] { return !entry.is_running || interrupted; });
  if (entry.is_running) {
    return {{}, "the lookup of " + host + " hangs", true};
  }
  return std::exchange(entry.found, {});
}

void Lookup::wake() {
  std::lock_guard const lock(board_->mutex);  // so that a caller cannot miss the notification
  board_->changed.notify_all();
}

}  // namespace lastcall::discovery
