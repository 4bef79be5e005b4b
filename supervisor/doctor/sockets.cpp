// Checks whether the Unix sockets can be made or reached here, and by which user.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/socket_address.hpp"
#include "supervisor/doctor/findings.hpp"
#include "supervisor/doctor/reach.hpp"

namespace lastcall::doctor {
namespace {

namespace fs = std::filesystem;

std::string me() {
  return "uid " + std::to_string(::geteuid());
}

std::string socket_problem(std::string const& key, std::string const& path) {
  if (path.size() > kLongestSocketPath) {
    return key + ": " + path + " has " + std::to_string(path.size()) +
           " bytes, the kernel accepts at most " + std::to_string(kLongestSocketPath) +
           ": choose a shorter path";
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return key + ": " + path + " is not a socket: remove it, or choose another path";
  }
  fs::path const folder = fs::path(path).parent_path();
  fs::path const there = existing_folder(folder.string());
  std::error_code error;
  if (!fs::is_directory(there, error)) {
    return key + ": " + there.string() +
           " is not a directory, so nothing can be created in it: set " + key + " to a path in one";
  }
  if (::access(there.c_str(), W_OK | X_OK) == 0) {
    return {};
  }
  bool const is_read_only = errno == EROFS;
  bool const exists = there == folder;
  if (is_read_only) {
    return key + ": " + there.string() + " is on a read-only file system" +
           (exists ? "" : ", so " + folder.string() + " cannot be created") +
           ": mount a volume there, or set " + key;
  }
  return key + ": " + me() + " may not write to " + there.string() +
         (exists ? "" : " and so cannot create " + folder.string()) +
         ": mount a volume there that this user owns, or set " + key;
}

std::string stranger_text(Speaks speaks, std::string const& socket) {
  return speaks == Speaks::not_to_us
             ? "a supervisor runs, and ipc.allow_uids of its configuration does not name " + me() +
                   ", which connects to " + socket +
                   ": run this as its user or as root, or name that "
                   "user"
             : "a supervisor may run, but " + me() + " may not connect to " + socket +
                   ": run this as its user or as root";
}

}  // namespace

void examine_sockets(Visit const& visit, Findings& findings) {
  config::Ipc const& ipc = visit.loaded.config.ipc;
  if (!ipc.allow_uids.any && !ipc.allow_uids.listed.empty() && (ipc.mode & 0022U) == 0) {
    findings.push_back(
        {"uids",
         "ipc.mode lets no other user connect, though ipc.allow_uids names some: set "
         "ipc.mode to \"0660\" with a common group, or to \"0666\""});
  }
  if (visit.speaks == Speaks::yes) {
    return;
  }
  if (visit.speaks != Speaks::no) {
    findings.push_back({"uids", stranger_text(visit.speaks, ipc.admin_socket)});
    return;
  }
  // Outside a pod, `run` makes a private directory if the default one cannot be used.
  config::Ipc const defaults;
  for (auto const& [key, path, usual] :
       {std::tuple("ipc.socket", ipc.socket, defaults.socket),
        std::tuple("ipc.admin_socket", ipc.admin_socket, defaults.admin_socket)}) {
    std::string problem = visit.in_pod() || path != usual ? socket_problem(key, path) : "";
    if (!problem.empty()) {
      findings.push_back({"sockets", std::move(problem)});
    }
  }
}

}  // namespace lastcall::doctor
