#include "supervisor/runtime/record/stop_record.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/durable_file.hpp"
#include "base/json_member.hpp"
#include "core/remembered.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kLargest = 8192;

std::string first_line_of(char const* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Empty also if it is not a regular file, because it could be a pipe that another process holds.
/// Nothing if it cannot be read; then errno is set.
std::optional<std::string> content_of(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) {
    return std::nullopt;
  }
  if (!S_ISREG(file.st_mode)) {
    return std::string();
  }
  std::string text(kLargest, '\0');
  ssize_t const count = ::read(fd, text.data(), text.size());
  if (count < 0) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(count));
  return text;
}

/// The text of the record, empty if something else is in its place; nothing if it cannot be read,
/// then errno is set.
std::optional<std::string> text_of(std::string const& path) {
  Descriptor const file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    bool const is_no_file = errno == ELOOP || errno == ENXIO;  // a link or a socket
    return is_no_file ? std::optional(std::string()) : std::nullopt;
  }
  return content_of(file.get());
}

/// The reason why a record does not apply now; empty if it applies.
std::string stale(Json const& json, StopRecord::Identity const& identity, lifecycle::Instant now) {
  if (!json.is_object() || json.value("version", Json()) != Json(kVersion)) {
    return "it is not a record of this version";
  }
  if (json::text(json::member(json, "boot_id")) != identity.boot_id) {
    return "the machine has been restarted since";
  }
  if (json::text(json::member(json, "pod_uid")) != identity.pod_uid) {
    return "it belongs to another pod";
  }
  auto const remembered = lifecycle::decode_remembered(json::text(json::member(json, "blob")));
  if (!remembered) {
    return "its content is not readable";
  }
  // The limit of a drain may have passed: what runs is then cancelled, and the drain stays in
  // force.
  auto const& stop = remembered->progress.stop;
  return stop && stop->deadline < now ? "its deadline has passed" : "";
}

}  // namespace

StopRecord::Identity StopRecord::identity_of_this_life() {
  char const* const pod = std::getenv("LASTCALL_POD_UID");
  return {first_line_of("/proc/sys/kernel/random/boot_id"), pod == nullptr ? "" : pod};
}

StopRecord::StopRecord(std::string const& admin_socket, Identity identity)
    : path_(admin_socket.substr(0, admin_socket.rfind('/') + 1) + "stop.json"),
      identity_(std::move(identity)) {}

std::optional<std::string> StopRecord::read(lifecycle::Instant now, std::string& note) const {
  std::optional<std::string> const text = text_of(path_);
  if (!text) {
    if (errno != ENOENT) {
      note = file_failure("read", path_, errno) +
             "; it is kept, and a stop that it records is not continued";
    }
    return std::nullopt;
  }
  Json const json = Json::parse(*text, nullptr, false);
  std::string const why = stale(json, identity_, now);
  if (!why.empty()) {
    note = path_ + " is ignored: " + why;
    remove();
    return std::nullopt;
  }
  return json::text(json::member(json, "blob"));
}

std::string StopRecord::write(std::string const& blob) const {
  Json const json{{"version", kVersion},
                  {"boot_id", identity_.boot_id},
                  {"pod_uid", identity_.pod_uid},
                  {"blob", blob}};
  return replace_file(path_, path_ + ".new", json::dump(json) + "\n", 0600);
}

void StopRecord::remove() const {
  ::unlink(path_.c_str());
}

}  // namespace lastcall::runtime
