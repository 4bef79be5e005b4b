// The parts that the operator's subcommands share: finding the admin socket, asking, complaining.
//
// Exit codes of all of them: 0 done; 1 no supervisor there, it refused, or the time was over;
// 2 bad usage or configuration.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "config/load.hpp"
#include "ipc/operator_client.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

inline constexpr int kExitFailure = 1;
inline constexpr std::chrono::milliseconds kAnswerTimeout{5'000};

struct OperatorOptions {
  config::LoadOptions load;
  /// Instead of the configuration's ipc.admin_socket.
  std::optional<std::string> admin_socket;
  Output output = Output::text;
};

/// The socket to ask; absent after a complaint about the configuration.
std::optional<std::string> admin_socket(OperatorOptions const& options,
                                        config::Environment const& environment, std::ostream& err);

/// Without a client the complaint is out, and this is the code to end with.
struct Connection {
  std::optional<ipc::OperatorClient> client;
  int exit_code = kExitFailure;
};

Connection connect_or_complain(OperatorOptions const& options,
                               config::Environment const& environment, std::ostream& err);

/// The result as JSON text; absent after a complaint.
std::optional<std::string> ask_or_complain(ipc::OperatorClient& client,
                                           ipc::ToSupervisor const& question, std::ostream& err);

}  // namespace lastcall::cli
