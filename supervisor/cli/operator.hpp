// The common parts of the operator's subcommands: finding the admin socket, sending a request,
// complaining.
//
// All of them have these exit codes: 0 done; 1 no supervisor answered, it refused, or the time was
// over; 2 bad usage or configuration.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "config/load.hpp"
#include "ipc/operator_client.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

inline constexpr int kExitFailure = 1;
inline constexpr std::chrono::milliseconds kAnswerTimeout{5'000};

struct OperatorOptions {
  config::LoadOptions load;
  /// Overrides the configuration's ipc.admin_socket.
  std::optional<std::string> admin_socket;
  Output output = Output::text;
};

/// The socket to connect to; absent after a complaint about the configuration.
std::optional<std::string> admin_socket(OperatorOptions const& options,
                                        config::Environment const& environment, std::ostream& err);

/// Without a client the complaint was printed, and `exit_code` is the code to end with.
struct Connection {
  std::optional<ipc::OperatorClient> client;
  int exit_code = kExitFailure;
};

Connection connect_or_complain(OperatorOptions const& options,
                               config::Environment const& environment, std::ostream& err);

/// The result as JSON text; absent after a complaint.
std::optional<std::string> ask_or_complain(ipc::OperatorClient& client,
                                           ipc::ToSupervisor const& question, std::ostream& err);

/// The result as a JSON object; absent after a complaint, which may be that it is not `what`.
std::optional<nlohmann::ordered_json> ask_for_object(ipc::OperatorClient& client,
                                                     ipc::ToSupervisor const& question,
                                                     std::string_view what, std::ostream& err);

}  // namespace lastcall::cli
