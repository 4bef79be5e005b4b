#include "router/worker_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>
#include <sys/inotify.h>
#include <sys/stat.h>
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
constexpr std::uint32_t kChanges =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kWatched = kChanges | IN_CREATE | IN_ATTRIB | IN_ONLYDIR;
/// The watch has ended, or follows a directory that has moved elsewhere.
constexpr std::uint32_t kDepartures = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

struct Event {
  std::uint32_t mask = 0;
  std::string name;  // empty if the directory itself is meant
};

std::vector<Event> events_in(std::span<char const> bytes) {
  std::vector<Event> events;
  while (bytes.size() >= sizeof(inotify_event)) {
    inotify_event event{};
    std::memcpy(&event, bytes.data(), sizeof event);
    bytes = bytes.subspan(sizeof event);
    auto const padded = bytes.first(std::min<std::size_t>(bytes.size(), event.len));
    events.push_back({event.mask, {padded.begin(), std::find(padded.begin(), padded.end(), '\0')}});
    bytes = bytes.subspan(padded.size());
  }
  return events;
}

/// Whether a name that has just appeared has its content already: a link. Another file is being
/// written, and its end is an event of its own.
bool is_link(fs::path const& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && (S_ISLNK(found.st_mode) || found.st_nlink > 1);
}

/// Two directories are the same one if device and inode are equal; absent if there is none.
std::optional<std::pair<dev_t, ino_t>> identity_of(std::string const& directory) {
  struct stat found {};
  return ::stat(directory.c_str(), &found) == 0
             ? std::optional(std::pair(found.st_dev, found.st_ino))
             : std::nullopt;
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
  std::optional<std::pair<dev_t, ino_t>> directory;
  std::uint64_t number = 0;  // of the watch; an earlier one's events count for nothing
  std::uint64_t waits = 0;
  bool was_there = false;
  bool is_troubled = false;
};

WorkerFiles::WorkerFiles(asio::io_context& io, std::string directory, Listeners listeners)
    : directory_(std::move(directory)),
      listeners_(std::move(listeners)),
      watch_(std::make_shared<Watch>(io)) {}

WorkerFiles::~WorkerFiles() = default;

void WorkerFiles::start() {
  // If another directory takes its name between these two steps, the next check finds that.
  watch_->directory = identity_of(directory_);
  // The watch begins before the directory is read, so that every later change is an event.
  int const fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0 && ::inotify_add_watch(fd, directory_.c_str(), kWatched) < 0) {
    error = errno;
    ::close(fd);
  }
  if (error == ENOENT && !watch_->was_there) {
    later(&WorkerFiles::start);
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

void WorkerFiles::end_watch() {
  watch_->events.close();
  ++watch_->number;
}

void WorkerFiles::failed(std::string const& problem) {
  watch_->is_troubled = true;
  listeners_.troubled(problem);
  later(&WorkerFiles::start);
}

void WorkerFiles::later(void (WorkerFiles::*next)()) {
  watch_->later.expires_after(kLookAgain);
  // A timer that fires in the turn in which the source is removed, or the timer is set anew,
  // reports no error.
  watch_->later.async_wait([this, next, held = std::weak_ptr(watch_),
                            wait = ++watch_->waits](boost::system::error_code const& error) {
    auto const watch = held.lock();
    if (!error && watch && watch->waits == wait) {
      (this->*next)();
    }
  });
}

/// No event reports that a link to the directory, or one of its parents, leads elsewhere.
void WorkerFiles::check_directory() {
  if (identity_of(directory_) != watch_->directory) {
    end_watch();
    start();
  } else {
    later(&WorkerFiles::check_directory);
  }
}

void WorkerFiles::await_change() {
  watch_->events.async_read_some(
      asio::buffer(watch_->buffer), [this, held = std::weak_ptr(watch_), number = watch_->number](
                                        boost::system::error_code const& error, std::size_t size) {
        auto const watch = held.lock();
        if (!watch || watch->number != number || error == asio::error::operation_aborted) {
          return;
        }
        if (error || has_departed(size)) {
          end_watch();
          start();
        } else if (has_changed(size)) {
          look();
        } else {
          await_change();
        }
      });
}

bool WorkerFiles::has_departed(std::size_t size) const {
  std::vector<Event> const events = events_in(std::span(watch_->buffer).first(size));
  return identity_of(directory_) != watch_->directory ||
         std::any_of(events.begin(), events.end(),
                     [](Event const& event) { return (event.mask & kDepartures) != 0; });
}

bool WorkerFiles::has_changed(std::size_t size) const {
  std::vector<Event> const events = events_in(std::span(watch_->buffer).first(size));
  return std::any_of(events.begin(), events.end(), [this](Event const& event) {
    return (event.mask & (kChanges | IN_Q_OVERFLOW)) != 0 ||
           ((event.mask & IN_CREATE) != 0 && is_link(fs::path(directory_) / event.name)) ||
           ((event.mask & IN_ATTRIB) != 0 && watch_->reported.contains(event.name));
  });
}

void WorkerFiles::look() {
  if (std::error_code const error = read()) {
    end_watch();  // no event reports when the directory can be read again
    failed("cannot read " + directory_ + ": " + error.message());
    return;
  }
  if (std::exchange(watch_->is_troubled, false)) {
    listeners_.troubled("");
  }
  later(&WorkerFiles::check_directory);
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
