// Drain and resume over HTTP, for cluster operators that scale down: which callers are allowed,
// what they are answered, and whether the pod can be deleted now.
//
//   GET  /lifecycle/status   reports the state of this instance
//   POST /lifecycle/drain    takes this instance out of service; returns at once
//   POST /lifecycle/resume   undoes the drain
//
// Rules:
//  1. It is off unless `probes.orders_token_file` is set. Every call must carry the contents of
//     that file in `X-Lastcall-Token`: a call without a token is answered with 401, one with a
//     wrong token with 403. The file is read for each call that carries a token, because a mounted
//     secret is rotated; while it cannot be read, is empty, or is not a regular file, the answer is
//     503. Each of these answers is counted, and the file's name is logged.
//  2. `safe_to_delete` fails closed: true only in `drained`, when all reports agree that nothing is
//     in flight. While it is unknown what is in flight, it stays false.
//  3. An impossible order is answered with 409 and the reason. A repeated order changes nothing.
//  4. Each order leaves the same record as an order on the admin socket, with the caller's address.
//
// Thread rule: answer() on the listener's thread, the handler on the loop's.
// Source: docs/operations.md, 'Scaling down'; specification, 'Drain and stop'.
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

/// `outcome` is the outcome of an order; a question has none.
probes::Reply order_reply(std::optional<OperatorSessions::Outcome> const& outcome,
                          lifecycle::Snapshot const& snapshot);

/// Carries out the order and answers it, on the loop.
probes::Reply order_over_http(HttpOrder order, std::string const& caller,
                              OperatorSessions& operators, lifecycle::Lifecycle const& core);

class HttpOrders {
 public:
  using Handler = std::function<probes::Reply(HttpOrder order, std::string const& caller)>;
  /// Receives a call that was refused because of its token, on the listener's thread.
  using Refused = std::function<void(telemetry::RefusedCall call)>;

  HttpOrders(boost::asio::io_context& io, std::optional<std::string> token_file, Handler handler,
             Refused refused);

  /// Returns false if the request is not one of these calls.
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
