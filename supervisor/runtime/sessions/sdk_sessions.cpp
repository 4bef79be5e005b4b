#include "supervisor/runtime/sessions/sdk_sessions.hpp"

#include <algorithm>
#include <utility>

#include "base/overloaded.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"

namespace lastcall::runtime {
namespace {

ipc::ErrorCode code_of(lifecycle::Refusal refusal) {
  switch (refusal) {
    case lifecycle::Refusal::duplicate_id:
      return ipc::ErrorCode::duplicate_id;
    case lifecycle::Refusal::not_yours:
      return ipc::ErrorCode::not_yours;
    case lifecycle::Refusal::bad_field:
      return ipc::ErrorCode::bad_field;
    case lifecycle::Refusal::conflict:
      return ipc::ErrorCode::conflict;
    case lifecycle::Refusal::busy:
      return ipc::ErrorCode::busy;
  }
  return ipc::ErrorCode::conflict;
}

lifecycle::LoadReported event_of(ipc::PeerId peer, ipc::Load const& load) {
  auto const rank = std::min<std::uint64_t>(load.dp_rank, UINT32_MAX);
  return {peer, static_cast<std::uint32_t>(rank), load.active_decode_blocks, load.kv_total_blocks,
          load.active_prefill_tokens};
}

}  // namespace

void SdkSessions::hello(ipc::PeerId peer, ipc::Hello&& hello) {
  peers_.add({peer, hello.name, hello.sdk, hello.critical});
  log_.info("engine peer connected", {{"peer", peer},
                                      {"name", hello.name},
                                      {"sdk", hello.sdk},
                                      {"critical", hello.critical},
                                      {"live", hello.live}});
  ipc::Welcome welcome = welcome_of(core_);
  welcome.probe = listeners_.own_mark();
  server_.welcome(peer, welcome);
  if (auto const stop = core_.snapshot().stop) {
    server_.send(peer, ipc::PhaseChange{core_.snapshot().phase, stop->deadline});
  }
  ipc::PeerInfo const* const info = server_.info(peer);
  peers_.of(peer).process = info != nullptr ? info->process : 0;
  auto const asked = cleanup_deadline_;  // the core may ask all peers during this event
  events_.feed(lifecycle::PeerConnected{.peer = peer,
                                        .name = std::move(hello.name),
                                        .critical = hello.critical,
                                        .watched = info != nullptr && info->watched,
                                        .live = static_cast<std::uint32_t>(hello.live)});
  if (asked) {
    server_.send(peer, ipc::Cleanup{*asked});
  }
  listeners_.joined(peer);
}

void SdkSessions::message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq) {
  std::visit(
      Overloaded{
          [&](ipc::RequestBegin& m) { begin(peer, std::move(m), seq); },
          [&](ipc::RequestEnd& m) {
            handle(peer, seq, lifecycle::RequestEnded{peer, std::move(m.id), m.outcome});
          },
          [&](ipc::RequestProgress& m) {
            handle(peer, seq, lifecycle::RequestProgressed{peer, std::move(m.ids)});
          },
          [&](ipc::CancelDone& m) {
            handle(peer, seq, lifecycle::CancelConfirmed{peer, std::move(m.id)});
          },
          [&](ipc::Cancel& m) {
            handle(peer, seq,
                   lifecycle::CancelRequested{peer, std::move(m.ids), std::move(m.root), m.mode,
                                              m.reason});
          },
          [&](ipc::EndpointRegister& m) {
            handle(peer, seq,
                   lifecycle::EndpointRegistered{peer, std::move(m.endpoint), m.graceful_shutdown});
          },
          [&](ipc::EndpointUnregister& m) {
            handle(peer, seq, lifecycle::EndpointUnregistered{peer, std::move(m.endpoint)});
          },
          [&](ipc::Health& m) {
            listeners_.health(peer, m);
            server_.ack(peer, seq);
          },
          [&](ipc::HealthDoubt&) {
            peers_.of(peer).has_doubted = true;
            server_.ack(peer, seq);
            listeners_.doubt(peer);
          },
          [&](ipc::Load& m) { handle(peer, seq, event_of(peer, m)); },
          [&](ipc::Fatal& m) { fatal(peer, std::move(m), seq); },
          [&](ipc::Registered&) {
            if (!std::exchange(peers_.of(peer).registers_itself, true)) {
              listeners_.registered(peer);
            }
            server_.ack(peer, seq);
          },
          [&](ipc::Deregistered&) {
            listeners_.deregistered(peer);
            server_.ack(peer, seq);
          },
          [&](ipc::CleanupDone&) { handle(peer, seq, lifecycle::PeerCleanedUp{peer}); },
          [&](ipc::Ack&) {},
          [&](ipc::Error& m) {
            log_.warning("an engine peer refused a line",
                         {{"peer", peer}, {"code", ipc::name(m.code)}, {"detail", m.message}});
          },
          // The server does not accept any of these from an engine.
          [](auto&) {},
      },
      message);
}

void SdkSessions::begin(ipc::PeerId peer, ipc::RequestBegin&& begin, ipc::Seq seq) {
  std::uint64_t const before = core_.requests().roots_begun();
  lifecycle::RequestBegun const begun{.peer = peer,
                                      .id = std::move(begin.id),
                                      .root = std::move(begin.root),
                                      .parent = std::move(begin.parent),
                                      .endpoint = std::move(begin.endpoint),
                                      .model = std::move(begin.model),
                                      .stream = begin.stream,
                                      .admit = begin.admit,
                                      .resumed = begin.resumed,
                                      .priority = begin.priority,
                                      .way = begin.way,
                                      .began_at = begin.began_at};
  StepReply const& reply = events_.feed(begun);
  if (core_.requests().roots_begun() > before) {
    listeners_.request_began(begun.endpoint);
  }
  if (reply.refusal && reply.refusal->code == lifecycle::Refusal::busy) {
    // It is logged once per connection, or once for all of them: a peer that begins so many
    // requests does not stop after one refusal.
    if (core_.requests().of_peer(peer) < core_.settings().peer_requests) {
      if (!std::exchange(is_crowded_, true)) {
        log_.warning(
            "the engine peers together have reached the limit of live requests: further "
            "requests are refused",
            {{"requests", core_.requests().in_flight()}, {"key", "ipc.max_requests"}});
      }
    } else if (SdkPeers::Row& row = peers_.of(peer); !std::exchange(row.is_crowd, true)) {
      log_.warning(
          "an engine peer has reached its limit of live requests: further requests are "
          "refused",
          {{"peer", peer},
           {"name", row.name},
           {"requests", core_.requests().of_peer(peer)},
           {"key", "ipc.max_requests_per_peer"}});
    }
  }
  answer(peer, seq, reply);
}

void SdkSessions::fatal(ipc::PeerId peer, ipc::Fatal&& fatal, ipc::Seq seq) {
  log_.critical("the engine reports a fatal error", {{"peer", peer},
                                                     {"name", peers_.of(peer).name},
                                                     {"reason", fatal.reason},
                                                     {"detail", fatal.detail}});
  handle(peer, seq, lifecycle::PeerFatal{peer, std::move(fatal.reason), std::move(fatal.detail)});
}

void SdkSessions::handle(ipc::PeerId peer, ipc::Seq seq, lifecycle::Event const& event) {
  answer(peer, seq, events_.feed(event));
}

void SdkSessions::answer(ipc::PeerId peer, ipc::Seq seq, StepReply const& reply) {
  if (reply.refusal) {
    server_.error(peer, seq, code_of(reply.refusal->code), reply.refusal->message);
  } else {
    server_.ack(peer, seq);
  }
}

bool SdkSessions::leave(ipc::PeerId peer) {
  if (!peers_.disconnect(peer)) {
    return false;
  }
  listeners_.left(peer);
  return true;
}

void SdkSessions::disconnected(ipc::PeerId peer, std::string_view why) {
  if (!leave(peer)) {
    return;
  }
  log_.info("engine peer disconnected", {{"peer", peer}, {"why", why}});
  events_.feed(lifecycle::PeerDisconnected{peer});
}

void SdkSessions::process_gone(ipc::PeerId peer) {
  leave(peer);
  log_.info("an engine peer's process is gone", {{"peer", peer}});
  events_.feed(lifecycle::PeerGone{peer});
  forget(peer);
}

std::size_t SdkSessions::next_cancels(ipc::PeerId peer, ipc::CancelBatch& batch) {
  lifecycle::CancelBatch const cancels = core_.take_cancels(peer, ipc::kMaxBatch);
  batch.mode = cancels.mode;
  batch.reason = cancels.reason;
  batch.ids.assign(cancels.ids.begin(), cancels.ids.end());
  return batch.ids.size();
}

void SdkSessions::broadcast(ipc::FromSupervisor const& message) {
  for (auto const& [peer, row] : peers_.all()) {
    server_.send(peer, message);  // peers that are gone do not get it
  }
}

void SdkSessions::admit(lifecycle::Admit const& order) {
  server_.send(order.peer, ipc::Admitted{std::string(order.id)});
}

void SdkSessions::reject(lifecycle::Reject const& order) {
  std::optional<lifecycle::Duration> retry_after;
  if (order.retry_after > lifecycle::Duration{0}) {
    retry_after = order.retry_after;
  }
  server_.send(order.peer, ipc::Rejected{.id = order.id,
                                         .reason = order.reason,
                                         .retry_after = retry_after,
                                         .limit = order.limit,
                                         .count = order.count,
                                         .detail = order.excess ? text_of(*order.excess) : ""});
}

void SdkSessions::clean_up(lifecycle::Instant deadline) {
  cleanup_deadline_ = deadline;
  broadcast(ipc::Cleanup{deadline});
}

void SdkSessions::forget(ipc::PeerId peer) {
  peers_.erase(peer);
  server_.forget(peer);
}

}  // namespace lastcall::runtime
