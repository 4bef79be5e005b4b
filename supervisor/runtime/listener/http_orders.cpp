#include "supervisor/runtime/listener/http_orders.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "base/same_secret.hpp"
#include "discovery/secret_file.hpp"

namespace lastcall::runtime {
namespace {

using OrderJson = nlohmann::ordered_json;

struct OrderPath {
  std::string_view path;
  HttpOrder order;
  std::string_view method;
};

constexpr std::array kOrderPaths{
    OrderPath{"/lifecycle/status", HttpOrder::status, "GET"},
    OrderPath{"/lifecycle/drain", HttpOrder::drain, "POST"},
    OrderPath{"/lifecycle/resume", HttpOrder::resume, "POST"},
};

probes::Reply order_error(int status, std::string_view code, std::string const& message) {
  return probes::json_reply(
      status, json::dump(OrderJson{{"error", {{"code", code}, {"message", message}}}}));
}

std::optional<probes::Reply> refuse_method(probes::Request const& request,
                                           std::string_view expected) {
  if (request.method == expected || (request.method == "HEAD" && expected == "GET")) {
    return std::nullopt;
  }
  std::string const method(expected);
  probes::Reply reply = order_error(
      405, "unknown_method", "method " + request.method + " is not allowed here, use " + method);
  reply.headers.emplace_back("Allow", method);
  return reply;
}

}  // namespace

probes::Reply order_reply(std::optional<OperatorSessions::Outcome> const& outcome,
                          lifecycle::Snapshot const& snapshot) {
  if (outcome && outcome->refusal) {
    return order_error(409, "conflict", *outcome->refusal);
  }
  OrderJson json;
  if (outcome) {
    json["changed"] = outcome->has_changed;
  }
  bool const is_known = snapshot.source != lifecycle::InFlightSource::unknown;
  json["phase"] = std::string(name(snapshot.phase));
  json["in_flight"] = is_known ? OrderJson(snapshot.in_flight) : OrderJson(nullptr);
  json["safe_to_delete"] =
      snapshot.phase == lifecycle::Phase::drained && is_known && snapshot.in_flight == 0;
  return probes::json_reply(200, json::dump(json));
}

probes::Reply order_over_http(HttpOrder order, std::string const& caller,
                              OperatorSessions& operators, lifecycle::Lifecycle const& core) {
  std::optional<OperatorSessions::Outcome> outcome;
  if (order == HttpOrder::drain) {
    outcome = operators.order_from_afar(caller, "drain", lifecycle::DrainRequested{});
  } else if (order == HttpOrder::resume) {
    outcome = operators.order_from_afar(caller, "resume", lifecycle::ResumeRequested{});
  }
  return order_reply(outcome, core.snapshot());
}

HttpOrders::HttpOrders(boost::asio::io_context& io, std::optional<std::string> token_file,
                       Handler handler, Refused refused)
    : io_(io),
      token_file_(std::move(token_file)),
      handler_(std::move(handler)),
      refused_(std::move(refused)) {}

bool HttpOrders::answer(probes::Request const& request, probes::Responder const& responder) const {
  auto const found = std::find_if(kOrderPaths.begin(), kOrderPaths.end(),
                                  [&](OrderPath const& each) { return each.path == request.path; });
  if (!token_file_ || found == kOrderPaths.end()) {
    return false;
  }
  if (auto refused = refuse_stranger(request, found->path)) {
    responder.send(std::move(*refused));
    return true;
  }
  if (auto refused = refuse_method(request, found->method)) {
    responder.send(std::move(*refused));
    return true;
  }
  boost::asio::post(io_, [this, order = found->order, caller = request.caller.address, responder] {
    responder.send(handler_(order, caller));
  });
  return true;
}

/// The file is read only for a call with a token in its header.
std::optional<probes::Reply> HttpOrders::refuse_stranger(probes::Request const& request,
                                                         std::string_view path) const {
  std::string_view const given = request.header(probes::kTokenHeader);
  std::string const header = "the header " + std::string(probes::kTokenHeader);
  telemetry::RefusedCall call{.caller = request.caller.address, .path = path};
  probes::Reply reply;
  if (given.empty()) {
    reply = order_error(401, "not_allowed", header + " is missing");
  } else {
    std::string const token = discovery::read_secret(*token_file_).value_or("");
    if (!token.empty() && same_secret(given, token)) {
      return std::nullopt;
    }
    if (token.empty()) {
      call.detail = "cannot read a token from " + discovery::why_no_secret(*token_file_);
      reply = order_error(503, "no_token", "the supervisor cannot read its token; see its log");
    } else {
      reply = order_error(403, "not_allowed", header + " holds another token");
    }
  }
  call.status = reply.status;
  refused_(std::move(call));
  return reply;
}

}  // namespace lastcall::runtime
