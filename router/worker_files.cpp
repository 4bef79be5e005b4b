#include "router/worker_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/json_member.hpp"
#include "discovery/instance_file.hpp"
#include "discovery/regular_file.hpp"
#include "router/worker_sources.hpp"

namespace lastcall::router {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kLookAgain{1};
constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                   IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// The watch has ended, or follows a directory that has moved elsewhere.
constexpr std::uint32_t kDepartures = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

/// Whether one of these events is a departure.
bool has_departed(std::span<char const> events) {
  while (events.size() >= sizeof(inotify_event)) {
    inotify_event event{};
    std::memcpy(&event, events.data(), sizeof event);
    if ((event.mask & kDepartures) != 0) {
      return true;
    }
    events = events.subspan(std::min(events.size(), sizeof event + event.len));
  }
  return false;
}

std::string text_member(nlohmann::ordered_json const& object, char const* key) {
  auto const found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Whether the system had no room to read a file, so that nothing is known about the file itself.
bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/// Absent if the file names no worker; `problem` is then set to the reason, and `shortage` to the
/// error if the file could not be read because of one.
std::optional<Announced> read_one(fs::path const& path, std::string& problem,
                                  std::error_code& shortage) {
  // The loop reads the file, so a pipe in its place would block all clients.
  auto const [text, error] =
      discovery::read_regular(path.string(), discovery::kMostOfAnInstanceFile);
  if (is_shortage(error)) {
    shortage = {error, std::system_category()};
    return std::nullopt;
  }
  if (!text) {
    problem = "not a readable regular file of at most 64 KiB";
    return std::nullopt;
  }
  auto const content = json::parsed<nlohmann::ordered_json>(*text);
  if (!content.is_object()) {
    problem = "not a JSON object";
    return std::nullopt;
  }
  Announced found{.url = text_member(content, "advertise"), .model = text_member(content, "model")};
  if (std::string const wrong = problem_of_worker(found.url); !wrong.empty()) {
    problem = "`advertise` is not the URL of a worker: " + wrong;
    return std::nullopt;
  }
  return found;
}

}  // namespace

struct WorkerFiles::Watch {
  explicit Watch(asio::io_context& io) : events(io), later(io) {}

  asio::posix::stream_descriptor events;
  asio::steady_timer later;
  std::array<char, 4096> buffer{};
  std::set<std::string> reported;  // files that were skipped
  bool was_there = false;
  bool is_troubled = false;
};

WorkerFiles::WorkerFiles(asio::io_context& io, std::string directory, Listeners listeners)
    : directory_(std::move(directory)),
      listeners_(std::move(listeners)),
      watch_(std::make_shared<Watch>(io)) {}

WorkerFiles::~WorkerFiles() = default;

void WorkerFiles::start() {
  // The watch begins before the directory is read, so that every later change is an event.
  int const fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0 && ::inotify_add_watch(fd, directory_.c_str(), kChanges) < 0) {
    error = errno;
    ::close(fd);
  }
  if (error == ENOENT && !watch_->was_there) {
    look_again_later();
    return;
  }
  if (error != 0) {
    failed("cannot watch " + directory_ + ": " + std::system_category().message(error));
    return;
  }
  watch_->events.assign(fd);
  watch_->was_there = true;
  look();
}

void WorkerFiles::failed(std::string const& problem) {
  if (!std::exchange(watch_->is_troubled, true)) {
    listeners_.troubled(problem);
  }
  look_again_later();
}

void WorkerFiles::look_again_later() {
  watch_->later.expires_after(kLookAgain);
  // A timer that fires in the turn in which the source is removed reports no error.
  watch_->later.async_wait(
      [this, held = std::weak_ptr(watch_)](boost::system::error_code const& error) {
        if (!error && !held.expired()) {
          start();
        }
      });
}

void WorkerFiles::await_change() {
  watch_->events.async_read_some(asio::buffer(watch_->buffer),
                                 [this](boost::system::error_code const& error, std::size_t size) {
                                   if (error == asio::error::operation_aborted) {
                                     return;
                                   }
                                   // Another directory may have its name by now.
                                   std::error_code gone;
                                   if (error ||
                                       has_departed(std::span(watch_->buffer).first(size)) ||
                                       !fs::is_directory(directory_, gone)) {
                                     watch_->events.close();
                                     start();
                                     return;
                                   }
                                   look();
                                 });
}

void WorkerFiles::look() {
  if (std::error_code const error = read()) {
    watch_->events.close();  // no event reports when the directory can be read again
    failed("cannot read " + directory_ + ": " + error.message());
    return;
  }
  if (std::exchange(watch_->is_troubled, false)) {
    listeners_.troubled("");
  }
  await_change();
}

std::error_code WorkerFiles::read() {
  std::vector<Announced> found;
  std::set<std::string> skipped;
  std::error_code error;
  for (fs::directory_iterator each(directory_, error), end; !error && each != end;
       each.increment(error)) {
    std::string const name = each->path().filename().string();
    if (name.starts_with('.') || !name.ends_with(".json")) {
      continue;
    }
    std::string problem;
    if (std::optional<Announced> one = read_one(each->path(), problem, error)) {
      found.push_back(std::move(*one));
    } else if (error) {
      break;  // increment() would clear it
    } else if (std::error_code gone; fs::exists(each->path(), gone)) {
      skipped.insert(name);
      if (watch_->reported.insert(name).second) {
        listeners_.skipped(each->path().string(), problem);
      }
    }
  }
  if (!error) {
    watch_->reported = std::move(skipped);
    std::sort(found.begin(), found.end(),
              [](Announced const& a, Announced const& b) { return a.url < b.url; });
    listeners_.found(std::move(found));
  }
  return error;
}

}  // namespace lastcall::router
