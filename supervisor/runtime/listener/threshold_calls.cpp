#include "supervisor/runtime/listener/threshold_calls.hpp"

#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace lastcall::runtime {

ThresholdCalls::ThresholdCalls(boost::asio::io_context& io, config::Admission const& admission,
                               Handler handler, Refused refused)
    : io_(io),
      is_on_(admission.http_api),
      token_(admission.http_token),
      handler_(std::move(handler)),
      refused_(std::move(refused)) {}

bool ThresholdCalls::answer(probes::Request const& request,
                            probes::Responder const& responder) const {
  if (!is_on_ || request.path != probes::kBusyThresholdPath) {
    return false;
  }
  probes::ThresholdCall call = probes::read_threshold_call(request, token_);
  if (auto* refusal = std::get_if<probes::Reply>(&call)) {
    if (probes::is_for_want_of_token(*refusal)) {
      refused_({.caller = request.caller.address,
                .status = refusal->status,
                .path = probes::kBusyThresholdPath});
    }
    responder.send(std::move(*refusal));
    return true;
  }
  boost::asio::post(io_,
                    [this, call = std::move(call), responder] { responder.send(handler_(call)); });
  return true;
}

}  // namespace lastcall::runtime
