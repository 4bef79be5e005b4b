#include "supervisor/runtime/sessions/operator_sessions.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

/// For the log, so that readers can find out who has cancelled a request.
std::string first_of(std::vector<std::string> const& ids) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i) {
    (text += i == 0 ? "" : " ") += ids[i];
  }
  return text;
}

}  // namespace

struct OperatorSessions::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

OperatorSessions::OperatorSessions(boost::asio::io_context& io, ipc::Server& server,
                                   EventSink& events, telemetry::Log& log, Answers answers)
    : server_(server),
      events_(events),
      log_(log),
      answers_(std::move(answers)),
      timer_(std::make_unique<Timer>(io)) {}

OperatorSessions::~OperatorSessions() = default;

void OperatorSessions::hello(ipc::PeerId peer, ipc::Hello&& hello) {
  watches_.emplace(peer, Watch{});
  log_.debug("operator connected", {{"peer", peer}, {"name", hello.name}});
  server_.welcome(peer, answers_.welcome());
}

void OperatorSessions::disconnected(ipc::PeerId peer) {
  watches_.erase(peer);
  server_.forget(peer);
}

void OperatorSessions::message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq) {
  if (std::holds_alternative<ipc::StatusQuery>(message)) {
    if (seq) {
      server_.ack(peer, seq, answers_.status());
    } else {
      send_status(peer);
    }
  } else if (auto const* query = std::get_if<ipc::RequestsQuery>(&message)) {
    requests(peer, *query, seq);
  } else if (auto const* watch = std::get_if<ipc::Watch>(&message)) {
    watches_[peer] = {
        .is_on = true, .is_stale = true, .notified_at = {}, .interval = watch->interval};
    server_.ack(peer, seq);
    serve_watches();
  } else if (auto const* wish = std::get_if<ipc::Drain>(&message)) {
    drain(peer, *wish, seq);
  } else if (std::holds_alternative<ipc::Resume>(message)) {
    record(peer, "resume", answer(peer, seq, events_.feed(lifecycle::ResumeRequested{})));
  } else if (auto* const order = std::get_if<ipc::Cancel>(&message)) {
    cancel(peer, std::move(*order), seq);
  } else if (std::holds_alternative<ipc::Reload>(message)) {
    reload(peer, seq);
  } else if (auto const* limits = std::get_if<ipc::AdmissionSet>(&message)) {
    std::string const now = answers_.set_admission(*limits);
    server_.ack(peer, seq, now);
    record(peer, "set admission", {"done", now});
  } else if (auto const* thresholds = std::get_if<ipc::ThresholdsSet>(&message)) {
    std::string const now = answers_.set_thresholds(*thresholds);
    server_.ack(peer, seq, now);
    record(peer, "set thresholds", {"done", now});
  }
}

void OperatorSessions::drain(ipc::PeerId peer, ipc::Drain const& drain, ipc::Seq seq) {
  Effect const effect =
      answer(peer, seq,
             events_.feed(lifecycle::DrainRequested{.exit = drain.exit, .timeout = drain.timeout}));
  std::string command = drain.exit ? "drain --exit" : "drain";
  if (drain.timeout) {
    command += " --timeout " + std::to_string(drain.timeout->count()) + "ms";
  }
  record(peer, command, effect);
}

void OperatorSessions::requests(ipc::PeerId peer, ipc::RequestsQuery const& query, ipc::Seq seq) {
  if (!seq) {
    server_.error(peer, seq, ipc::ErrorCode::bad_field,
                  "seq: expected, because the answer needs "
                  "it");
    return;
  }
  answers_.requests(query.after, std::min(query.limit, ipc::kMaxPage),
                    [this, peer, seq](std::optional<std::string> const& page) {
                      if (!watches_.contains(peer)) {
                        return;  // the operator has left meanwhile
                      }
                      if (page) {
                        server_.ack(peer, seq, *page);
                      } else {
                        server_.error(
                            peer, seq, ipc::ErrorCode::bad_field,
                            "requests: field 'after': expected the 'next' of an earlier answer");
                      }
                    });
}

void OperatorSessions::cancel(ipc::PeerId peer, ipc::Cancel&& cancel, ipc::Seq seq) {
  lifecycle::CancelRequested const order{.by = std::nullopt,
                                         .ids = std::move(cancel.ids),
                                         .root = std::move(cancel.root),
                                         .mode = cancel.mode,
                                         .reason = ipc::CancelReason::operator_};
  Effect const effect = answer(peer, seq, events_.feed(order));
  std::string command = "cancel --mode " + std::string(name(order.mode));
  if (!order.root.empty()) {
    command += " --root " + order.root;
  }
  if (!order.ids.empty()) {
    command += ", " + std::to_string(order.ids.size()) + " ids: " + first_of(order.ids);
  }
  record(peer, command, effect);
}

void OperatorSessions::reload(ipc::PeerId peer, ipc::Seq seq) {
  ReloadAnswer const answer = answers_.reload();
  if (answer.refusal) {
    server_.error(peer, seq, ipc::ErrorCode::conflict, *answer.refusal);
  } else {
    server_.ack(peer, seq, answer.result);
  }
  record(peer, "reload",
         {answer.refusal ? "refused" : "done", answer.refusal.value_or(answer.result)});
}

OperatorSessions::Effect OperatorSessions::answer(ipc::PeerId peer, ipc::Seq seq,
                                                  StepReply const& reply) {
  if (reply.refusal) {
    server_.error(peer, seq, ipc::ErrorCode::conflict, reply.refusal->message);
    return effect_of(reply);
  }
  bool const has_changed = reply.answer && reply.answer->changed;
  std::string const phase(name(answers_.welcome().phase));
  server_.ack(peer, seq,
              std::string(R"({"changed":)") + (has_changed ? "true" : "false") + R"(,"phase":")" +
                  phase + "\"}");
  return effect_of(reply);
}

OperatorSessions::Effect OperatorSessions::effect_of(StepReply const& reply) const {
  if (reply.refusal) {
    return {"refused", reply.refusal->message};
  }
  bool const has_changed = reply.answer && reply.answer->changed;
  return {has_changed ? "done" : "nothing to do",
          "phase " + std::string(name(answers_.welcome().phase))};
}

OperatorSessions::Outcome OperatorSessions::order_from_afar(std::string const& caller,
                                                            std::string const& command,
                                                            lifecycle::Event const& event) {
  StepReply const& reply = events_.feed(event);
  Outcome outcome{.refusal = std::nullopt, .has_changed = reply.answer && reply.answer->changed};
  if (reply.refusal) {
    outcome.refusal = reply.refusal->message;
  }
  Effect const effect = effect_of(reply);
  log_.info(
      "operator's order",
      {{"command", command}, {"effect", effect.word}, {"detail", effect.detail}, {"from", caller}});
  if (answers_.noted) {
    answers_.noted("operator at " + caller + ": " + command + ": " + effect.word + ", " +
                   effect.detail);
  }
  return outcome;
}

void OperatorSessions::record(ipc::PeerId peer, std::string const& command, Effect const& effect) {
  server_.flush();  // so that the caller does not wait for the log
  ipc::PeerInfo const* const by = server_.info(peer);
  ipc::PeerInfo const nobody;
  ipc::PeerInfo const& who = by != nullptr ? *by : nobody;
  log_.info("operator's order", {{"command", command},
                                 {"effect", effect.word},
                                 {"detail", effect.detail},
                                 {"uid", who.uid},
                                 {"pid", who.pid},
                                 {"name", who.name},
                                 {"peer", peer}});
  if (answers_.noted) {
    answers_.noted("operator with uid " + std::to_string(who.uid) + ", pid " +
                   std::to_string(who.pid) + ": " + command + ": " + effect.word + ", " +
                   effect.detail);
  }
}

void OperatorSessions::send_status(ipc::PeerId peer) {
  server_.send(peer, ipc::StatusUpdate{answers_.status()});
}

void OperatorSessions::changed() {
  bool any = false;
  for (auto& [peer, watch] : watches_) {
    watch.is_stale = watch.is_stale || watch.is_on;
    any = any || watch.is_on;
  }
  if (any) {
    serve_watches();
  }
}

void OperatorSessions::end() {
  for (auto& [peer, watch] : watches_) {
    if (std::exchange(watch.is_stale, false)) {
      send_status(peer);
    }
  }
}

/// The time at which this watch gets its next line; absent if only a change causes one.
std::optional<lifecycle::Instant> OperatorSessions::due(Watch const& watch) {
  if (!watch.is_on) {
    return std::nullopt;
  }
  auto const pause = watch.interval ? std::min(kWatchPause, *watch.interval) : kWatchPause;
  if (watch.is_stale) {
    return watch.notified_at + pause;
  }
  return watch.interval ? std::optional(watch.notified_at + *watch.interval) : std::nullopt;
}

void OperatorSessions::serve_watches() {
  lifecycle::Instant const now = monotonic_now();
  std::optional<lifecycle::Instant> next;
  for (auto& [peer, watch] : watches_) {
    auto const at = due(watch);
    if (at && *at <= now) {
      watch.notified_at = now;
      watch.is_stale = false;
      send_status(peer);
    }
    next = lifecycle::earlier_of(next, due(watch));
  }
  if (!next || (armed_for_ && *armed_for_ <= *next)) {
    return;
  }
  armed_for_ = next;
  timer_->timer.expires_at(to_steady(*next));
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error) {
      armed_for_.reset();
      serve_watches();
    }
  });
}

}  // namespace lastcall::runtime
