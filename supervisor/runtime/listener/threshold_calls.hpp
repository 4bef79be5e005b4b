// `/busy_threshold` on the probe listener. It is off unless `admission.http_api` is set.
//
// Thread rule: answer() on the listener's thread, the handler on the loop's, because only the loop
// knows and changes thresholds. Source: busy_threshold.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/schema.hpp"
#include "probes/listener/busy_threshold.hpp"
#include "telemetry/refused_calls.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class ThresholdCalls {
 public:
  using Handler = std::function<probes::Reply(probes::ThresholdCall const&)>;

  /// Receives a change that was refused because of its token, on the listener's thread.
  using Refused = std::function<void(telemetry::RefusedCall call)>;

  ThresholdCalls(boost::asio::io_context& io, config::Admission const& admission, Handler handler,
                 Refused refused);

  /// The largest size of a request body in bytes.
  std::size_t longest_body() const { return is_on_ ? probes::kMostBusyThresholdBody : 0; }
  /// Returns false if the request is not one of these calls.
  bool answer(probes::Request const& request, probes::Responder const& responder) const;

 private:
  boost::asio::io_context& io_;
  bool const is_on_;
  std::optional<std::string> const token_;
  Handler const handler_;
  Refused const refused_;
};

}  // namespace lastcall::runtime
