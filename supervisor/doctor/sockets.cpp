// The Unix sockets: whether they can be made or reached here, and by whom.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisor/doctor/findings.hpp"

namespace lastcall::doctor {
namespace {

namespace fs = std::filesystem;

/// The errno of a connection; 0: somebody accepted it.
int socket_error(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(),
              std::min(path.size() + 1, sizeof address.sun_path - 1));
  int const fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // The system's interface takes every kind of address by the pointer of one.
  auto const* const any = reinterpret_cast<sockaddr const*>(&address);
  int const error = ::connect(fd, any, sizeof address) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

std::string me() {
  return "uid " + std::to_string(::geteuid());
}

/// The nearest folder above that exists.
fs::path existing(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_parent_path() && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

std::string socket_problem(std::string const& key, std::string const& path) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kLongest) {
    return key + ": " + path + " has " + std::to_string(path.size()) + " bytes, the kernel takes " +
           std::to_string(kLongest) + ": choose a shorter path";
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return key + ": " + path + " is no socket: remove it, or choose another path";
  }
  fs::path const folder = fs::path(path).parent_path();
  fs::path const there = existing(folder);
  if (::access(there.c_str(), W_OK | X_OK) == 0) {
    return {};
  }
  bool const exists = there == folder;
  return key + ": " + me() + " may not write to " + there.string() +
         (exists ? "" : " and so cannot make " + folder.string()) +
         ": mount a volume there that this user owns, or set " + key;
}

}  // namespace

void examine_sockets(Visit const& visit, Findings& findings) {
  config::Ipc const& ipc = visit.loaded.config.ipc;
  if (fs::path(ipc.socket).parent_path() == fs::path(ipc.admin_socket).parent_path()) {
    findings.push_back({"sockets",
                        "ipc.socket and ipc.admin_socket are in the same directory, so that the "
                        "engine can reach the operator's: set ipc.admin_socket to a directory that "
                        "the engine's container does not mount"});
  }
  if (!ipc.allow_uids.any && !ipc.allow_uids.listed.empty() && (ipc.mode & 0022U) == 0) {
    findings.push_back(
        {"uids",
         "ipc.mode lets no other user connect, though ipc.allow_uids names some: set "
         "ipc.mode to \"0660\" with a common group, or to \"0666\""});
  }
  if (!visit.status.is_null()) {
    return;
  }
  if (socket_error(ipc.admin_socket) == EACCES) {
    findings.push_back({"uids", "a supervisor may run, but " + me() + " may not connect to " +
                                    ipc.admin_socket + ": ask as its user or as root"});
    return;
  }
  // Without a pod, `run` makes a private directory where the default one cannot be used.
  bool const is_default = ipc.socket == config::Ipc{}.socket;
  if (visit.in_pod() || !is_default) {
    for (auto const& [key, path] :
         {std::pair("ipc.socket", ipc.socket), std::pair("ipc.admin_socket", ipc.admin_socket)}) {
      if (std::string problem = socket_problem(key, path); !problem.empty()) {
        findings.push_back({"sockets", std::move(problem)});
      }
    }
  }
}

}  // namespace lastcall::doctor
