#include "discovery/instance_file.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_text.hpp"
#include "base/json_member.hpp"
#include "discovery/regular_file.hpp"

namespace lastcall::discovery {

namespace {

/// "cannot write /d/1a.json: no space left on device".
std::string failure(std::string const& action, std::string const& path, int error) {
  std::string text = error_text(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return "cannot " + action + " " + path + ": " + text;
}

std::string content_of(Instance const& instance, std::string const& started_at) {
  nlohmann::ordered_json const content{
      {"instance_id", instance.id},      {"namespace", instance.dynamo_namespace},
      {"component", instance.component}, {"endpoint", instance.endpoint},
      {"advertise", instance.advertise}, {"model", instance.model},
      {"pod_uid", instance.pod_uid},     {"started_at", started_at},
  };
  return content.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// The pod in a file with our name; empty if the file holds nothing that a reader could use.
std::string owner_of(std::string const& path) {
  auto const text = read_regular(path, kMostOfAnInstanceFile).text;
  auto const content = json::parsed<nlohmann::ordered_json>(text.value_or(""));
  if (!content.is_object()) {
    return {};
  }
  auto const found = content.find("pod_uid");
  return found != content.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// Refuses a file that names another pod: two pods have the same id, or the directory was copied.
std::string check_owner(std::string const& path, Instance const& instance) {
  auto const owner = owner_of(path);
  if (owner.empty() || owner == instance.pod_uid) {
    return {};
  }
  return "cannot touch " + path + ": it belongs to pod " + owner + ", this one is " +
         instance.pod_uid;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto const count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count < 0 ? 0 : count));
  }
  return true;
}

/// Returns 0 or the error number. On success the file is on disk.
int write_durably(std::string const& path, std::string_view text) {
  ::unlink(path.c_str());  // left over by a crash
  int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) {
    return errno;
  }
  int const error = write_all(fd, text) && ::fsync(fd) == 0 ? 0 : errno;
  int const closed = ::close(fd) == 0 ? 0 : errno;  // NFS reports a full server here
  return error != 0 ? error : closed;
}

/// Returns 0 or the error number. A directory that cannot be flushed counts as flushed: EINVAL is
/// from file systems that cannot do it, and a directory that we may write to but not list cannot be
/// opened for it. Readers see the change without it; only a crash of the host could undo it.
int flush_directory(std::string const& directory) {
  int const fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return errno == EACCES ? 0 : errno;
  }
  int const error = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return error;
}

std::string temporary_path(std::string const& directory, Instance const& instance) {
  return directory + "/." + instance_hex(instance.id) + ".json.tmp";
}

}  // namespace

std::string instance_path(std::string const& directory, Instance const& instance) {
  return directory + "/" + instance_hex(instance.id) + ".json";
}

std::string write_instance_file(std::string const& directory, Instance const& instance,
                                std::string const& started_at) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return failure("make the directory", directory, error.value());
  }
  auto const path = instance_path(directory, instance);
  if (auto const foreign = check_owner(path, instance); !foreign.empty()) {
    return foreign;
  }
  auto const temporary = temporary_path(directory, instance);
  if (int const failed = write_durably(temporary, content_of(instance, started_at)); failed != 0) {
    ::unlink(temporary.c_str());
    return failure("write", temporary, failed);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    int const failed = errno;
    ::unlink(temporary.c_str());
    return failure("rename " + temporary + " to", path, failed);
  }
  int const failed = flush_directory(directory);
  return failed == 0 ? std::string{} : failure("flush", directory, failed);
}

RegistryResult remove_instance_file(std::string const& directory, Instance const& instance) {
  auto const path = instance_path(directory, instance);
  if (auto foreign = check_owner(path, instance); !foreign.empty()) {
    return RegistryResult::ok(std::move(foreign));
  }
  auto const temporary = temporary_path(directory, instance);
  if (check_owner(temporary, instance).empty()) {
    ::unlink(temporary.c_str());  // left behind by a supervisor that was killed while it wrote
  }
  if (::unlink(path.c_str()) != 0) {
    // Without the directory there is no file either, so no router finds us there.
    return errno == ENOENT || errno == ENOTDIR
               ? RegistryResult::ok()
               : RegistryResult::failed(failure("remove", path, errno));
  }
  if (int const failed = flush_directory(directory); failed != 0 && failed != ENOENT) {
    return RegistryResult::failed(failure("flush", directory, failed));
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return RegistryResult::failed("cannot remove " + path +
                                  ": it exists again, because another process writes it");
  }
  return errno == ENOENT ? RegistryResult::ok()
                         : RegistryResult::failed(failure("confirm the removal of", path, errno));
}

}  // namespace lastcall::discovery
