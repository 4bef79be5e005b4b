#include "discovery/instance_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable_file.hpp"
#include "base/json_member.hpp"
#include "discovery/regular_file.hpp"

namespace lastcall::discovery {

namespace {

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

constexpr std::string_view kTemporaryEnd = ".json.tmp";

std::string temporary_path(std::string const& directory, Instance const& instance) {
  return directory + "/." + instance_hex(instance.id) + std::string(kTemporaryEnd);
}

bool is_temporary(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kTemporaryEnd)) {
    return false;
  }
  std::string_view const hex = name.substr(1, name.size() - 1 - kTemporaryEnd.size());
  return !hex.empty() && hex.size() <= 16 &&
         hex.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Removes what instances left behind that were killed, or forced to end, while they wrote: the
/// next pod has another name, so nobody else would. No write takes as long as kForgotten. Both
/// times are the file system's. It is done as far as it can be.
void remove_forgotten(std::string const& directory, std::string const& just_written) {
  constexpr std::chrono::hours kForgotten{1};
  std::error_code error;
  auto const now = std::filesystem::last_write_time(just_written, error);
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (is_temporary(entry->path().filename().native()) &&
        entry->symlink_status(unknown).type() == std::filesystem::file_type::regular) {
      auto const written = entry->last_write_time(unknown);
      if (!unknown && now - written > kForgotten) {
        ::unlink(entry->path().c_str());
      }
    }
  }
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
    return file_failure("make the directory", directory, error.value());
  }
  auto const path = instance_path(directory, instance);
  if (auto const foreign = check_owner(path, instance); !foreign.empty()) {
    return foreign;
  }
  auto failed = replace_file(path, temporary_path(directory, instance),
                             content_of(instance, started_at), 0644);
  if (failed.empty()) {
    remove_forgotten(directory, path);
  }
  return failed;
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
               : RegistryResult::failed(file_failure("remove", path, errno));
  }
  if (int const failed = flush_directory(directory); failed != 0 && failed != ENOENT) {
    return RegistryResult::failed(file_failure("flush", directory, failed));
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return RegistryResult::failed("cannot remove " + path +
                                  ": it exists again, because another process writes it");
  }
  return errno == ENOENT
             ? RegistryResult::ok()
             : RegistryResult::failed(file_failure("confirm the removal of", path, errno));
}

}  // namespace lastcall::discovery
