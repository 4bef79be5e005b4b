// A password or token in a file, as Kubernetes mounts it: read each time, because it is rotated.
//
// No state, no thread rule; blocks as files do. Source: projected service account tokens.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "discovery/tls_files.hpp"

namespace lastcall::discovery {

/// The first line; nothing if there is none.
inline std::optional<std::string> read_secret(std::string const& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    return std::nullopt;
  }
  return line;
}

/// Puts the file's password in place of the configured one, where there is a file; says what fails.
inline std::string read_password(std::string const& path, std::string& password) {
  if (path.empty()) {
    return {};
  }
  auto read = read_secret(path);
  if (!read) {
    return "cannot read the password: " + why_unusable({path}, "the file is empty");
  }
  password = std::move(*read);
  return {};
}

}  // namespace lastcall::discovery
