#include "discovery/secret_file.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "base/descriptor.hpp"
#include "discovery/regular_file.hpp"
#include "discovery/tls_files.hpp"

namespace lastcall::discovery {
namespace {

constexpr std::size_t kMostSecret = 64 * 1024;

/// Removes the carriage return of a file with the line ends of Windows, which no header may
/// contain.
std::string first_line(std::string text) {
  if (text.ends_with('\r')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

std::optional<std::string> read_secret(std::string const& path) {
  Descriptor const file = open_regular(path);
  if (!file) {
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> chunk{};
  while (text.size() <= kMostSecret) {
    ssize_t const count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return std::nullopt;
    }
    text.append(chunk.data(), static_cast<std::size_t>(count));
    std::size_t const end = text.find('\n');
    if (count == 0 || end != std::string::npos) {
      return text.empty() ? std::nullopt : std::optional(first_line(text.substr(0, end)));
    }
  }
  return std::nullopt;
}

std::string why_no_secret(std::string const& path) {
  return why_unusable({path}, "it is empty, or its first line is longer than 64 KiB");
}

std::string why_no_token(std::string const& path) {
  return "cannot read a token from " + why_no_secret(path);
}

std::string why_no_service_account(std::string const& path) {
  return why_no_token(path) +
         "; expected a service account's, which a pod with automountServiceAccountToken: "
         "false does not get";
}

std::string read_password(std::string const& path, std::string& password) {
  if (path.empty()) {
    return {};
  }
  auto read = read_secret(path);
  if (!read) {
    return "cannot read the password: " + why_no_secret(path);
  }
  password = std::move(*read);
  return {};
}

}  // namespace lastcall::discovery
