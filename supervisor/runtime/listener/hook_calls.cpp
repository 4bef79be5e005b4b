#include "supervisor/runtime/listener/hook_calls.hpp"

#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "config/presets.hpp"
#include "probes/checks/http_url.hpp"

namespace lastcall::runtime {
namespace {

/// The address at which the engine listens, taken from the first check that connects to it.
std::optional<probes::ReplacementSettings> engine_address(config::Config const& config) {
  config::EngineProfile const profile = config::resolve_engine(config);
  for (config::HealthCheck const& check : profile.checks) {
    probes::ReplacementSettings settings{
        .host = {}, .port = 0, .metrics_url = profile.gauges ? profile.gauges->url : ""};
    if (auto const* http = std::get_if<config::HttpCheck>(&check.kind)) {
      probes::HttpUrl url;
      if (probes::parse_http_url(http->url, url).empty()) {
        settings.host = url.target.host;
        settings.port = url.target.port;
        return settings;
      }
    } else if (auto const* tcp = std::get_if<config::TcpCheck>(&check.kind)) {
      settings.host = tcp->address.host;
      settings.port = tcp->address.port;
      return settings;
    }
  }
  return std::nullopt;
}

}  // namespace

HookCalls::HookCalls(boost::asio::any_io_executor executor, config::Config const& config,
                     EventSink& events, probes::Metrics& metrics, telemetry::Log& log)
    : executor_(std::move(executor)),
      events_(events),
      metrics_(metrics),
      log_(log),
      refused_(log, "preStop call refused"),
      takes_calls_(config.lifecycle.enabled) {
  bool const may_await =
      config.lifecycle.enabled || config.shutdown.after_stop == config::AfterStop::rearm;
  auto const settings = may_await ? engine_address(config) : std::nullopt;
  if (settings) {
    watch_ = std::make_unique<probes::ReplacementWatch>(
        executor_, *settings, [this](std::string how) { replaced(std::move(how)); });
  }
  if (!config.lifecycle.enabled || !config.lifecycle.http) {
    return;
  }
  listener_ = std::make_unique<probes::HttpListener>(
      probes::ListenerSettings{.host = config.lifecycle.listen.host,
                               .port = config.lifecycle.listen.port,
                               .thread_name = "hooks",
                               .callers = probes::CallerFacts::place},
      [this, token = config.lifecycle.token](probes::Request const& request,
                                             probes::Responder responder) {
        auto route = probes::route_hook(request, token);
        if (auto* refusal = std::get_if<probes::Reply>(&route)) {
          int const status = refusal->status;
          responder.send(std::move(*refusal));
          boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_), status,
                                        caller = request.caller.address] {
            if (alive.lock()) {
              metrics_.hooks().call_refused({});
              refused_.report({.caller = caller, .status = status}, monotonic_now());
            }
          });
          return;
        }
        boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_),
                                      hook = std::get<probes::Hook>(route),
                                      caller = request.caller.address,
                                      responder = std::move(responder)]() mutable {
          if (alive.lock()) {
            called(
                hook, caller,
                [responder = std::move(responder)](std::string_view why, lifecycle::Duration held) {
                  responder.send(probes::hook_reply(why, held));
                });
          }
        });
      });
}

HookCalls::~HookCalls() {
  stop();
}

std::string HookCalls::start() {
  return listener_ ? listener_->start().value_or("") : std::string();
}

void HookCalls::stop() {
  if (watch_) {
    watch_->stop();
  }
  if (listener_) {
    listener_->stop();
  }
}

void HookCalls::called(probes::Hook hook, std::string const& caller, Return answer) {
  bool const is_engine = hook == probes::Hook::engine;
  metrics_.hooks().called(is_engine);
  log_.info("preStop called",
            {{"container", is_engine ? "engine" : "supervisor"}, {"from", caller}});
  if (first_caller_.empty()) {
    first_caller_ = caller;
  }
  if (!is_engine) {
    events_.feed(lifecycle::DeletionSeen{.grace = {}});
    answer("recorded", lifecycle::Duration{0});
    return;
  }
  if (watch_) {
    watch_->ordered_to_end();
  }
  waiting_.push_back(std::move(answer));
  metrics_.hooks().set_waiting(waiting_.size());
  events_.feed(lifecycle::EngineStopHook{});
  if (engine_is_condemned_ && !watch_) {
    replaced("its container is being stopped");  // there is no address by which to observe more
  }
}

void HookCalls::called(ipc::Server& server, ipc::PeerId peer, ipc::Prestop const& call,
                       ipc::Seq seq) {
  if (!seq) {
    return server.error(peer, seq, ipc::ErrorCode::bad_field,
                        "seq: expected, because the call returns with the answer");
  }
  if (!takes_calls_) {
    return server.error(peer, seq, ipc::ErrorCode::not_allowed,
                        "lifecycle.enabled is false: no preStop call is accepted");
  }
  auto const hook =
      call.container == ipc::Container::engine ? probes::Hook::engine : probes::Hook::supervisor;
  called(hook, "uid " + std::to_string(server.info(peer)->uid),
         [&server, peer, seq](std::string_view why, lifecycle::Duration held) {
           server.ack(peer, seq, probes::hook_result(why, held));
         });
}

void HookCalls::release(lifecycle::ReleaseHook const& order) {
  metrics_.hooks().released(order.held);
  for (Return const& answer : std::exchange(waiting_, {})) {
    answer(order.why, order.held);
  }
  metrics_.hooks().set_waiting(0);
}

void HookCalls::await(lifecycle::AwaitReplacement const& order) {
  engine_is_condemned_ = order.condemned;
  metrics_.hooks().set_engine_awaited(true);
  if (watch_) {
    watch_->start(order.condemned);
  } else if (!takes_calls_) {
    replaced("no address is configured at which it could be seen");
  }
}

void HookCalls::replacement_ended() {
  engine_is_condemned_ = false;
  first_caller_.clear();
  metrics_.hooks().set_engine_awaited(false);
  if (watch_) {
    watch_->stop();
  }
}

void HookCalls::disproved() {
  metrics_.hooks().disproved();
  std::string const caller = std::exchange(first_caller_, {});
  log_.warning("the pod has outlived its preStop call: it was not being deleted, and serves again",
               {{"first_call_from", caller.empty() ? "unknown" : caller}});
}

void HookCalls::replaced(std::string how) {
  events_.feed(lifecycle::EngineReplaced{std::move(how)});
}

}  // namespace lastcall::runtime
