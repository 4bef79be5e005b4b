// Drain and resume over HTTP, for operators of a cluster that scale down: which callers are
// allowed, their answers, and whether the pod can be deleted now.
//
//   GET  /lifecycle/status   where it is
//   POST /lifecycle/drain    takes this instance out of service; returns at once
//   POST /lifecycle/resume   undoes it
//
// Rules:
//  1. Off unless `probes.orders_token_file` is set, and every call carries what that file holds in
//     `X-Lastcall-Token`: none is a 401, another one a 403. The file is read for each call that
//     carries one, since a mounted secret is rotated; while it cannot be read, is empty, or is not
//     a regular file, that is a 503. Each of these is counted, and the log has the file's name.
//  2. `safe_to_delete` fails closed: true only in `drained`, when all reports agree that nothing is
//     in flight. If it is unknown what is in flight, it stays false.
//  3. An impossible order is a 409 with the reason. A repeated order changes nothing.
//  4. Each order leaves the record that one on the admin socket leaves, with the caller's address.
//
// Thread rule: answer() on the listener's thread, the handler on the loop's. Source:
// docs/operations.md, 'Scaling down'; specification, 'Drain and stop'.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/lifecycle.hpp"
#include "probes/listener/listener.hpp"
#include "supervisor/runtime/sessions/operator_sessions.hpp"
#include "telemetry/refused_calls.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

enum class HttpOrder : std::uint8_t { status, drain, resume };

/// `outcome`: that of an order; a question has none.
probes::Reply order_reply(std::optional<OperatorSessions::Outcome> const& outcome,
                          lifecycle::Snapshot const& snapshot);

/// Obeys and answers, on the loop.
probes::Reply order_over_http(HttpOrder order, std::string const& caller,
                              OperatorSessions& operators, lifecycle::Lifecycle const& core);

class HttpOrders {
 public:
  using Handler = std::function<probes::Reply(HttpOrder order, std::string const& caller)>;
  /// A call without the token, on the listener's thread.
  using Refused = std::function<void(RefusedCall call)>;

  HttpOrders(boost::asio::io_context& io, std::optional<std::string> token_file, Handler handler,
             Refused refused);

  /// Returns false if it is not one of these calls.
  bool answer(probes::Request const& request, probes::Responder const& responder) const;

 private:
  std::optional<probes::Reply> refuse_stranger(probes::Request const& request,
                                               std::string_view path) const;

  boost::asio::io_context& io_;
  std::optional<std::string> const token_file_;
  Handler const handler_;
  Refused const refused_;
};

}  // namespace lastcall::runtime
