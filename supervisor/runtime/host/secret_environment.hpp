// The environment for programs that the supervisor starts: its own, without its secrets.
//
// Thread rule: any thread, while no thread changes the environment.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace lastcall::runtime {

/// Variables that hold secrets. The shim keeps them from the engine as well (shim/spawn.cpp).
inline constexpr std::array<std::string_view, 5> kSecretVariables{
    "LASTCALL_ETCD_PASSWORD", "LASTCALL_NATS_PASSWORD", "LASTCALL_LIFECYCLE_TOKEN",
    "LASTCALL_INGRESS_TOKEN", "LASTCALL_ADMISSION_TOKEN"};

inline bool is_secret_variable(std::string_view assignment) {
  std::string_view const name = assignment.substr(0, assignment.find('='));
  return std::find(kSecretVariables.begin(), kSecretVariables.end(), name) !=
         kSecretVariables.end();
}

/// The result is for exec(3); it points into the environment.
inline std::vector<char*> environment_for_others() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_secret_variable(*variable)) {
      kept.push_back(*variable);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace lastcall::runtime
