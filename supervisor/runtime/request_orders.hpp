// The core's orders about requests, carried out where the request came from: at an SDK's connection
// or in the ingress.
//
// Invariants:
//  1. The ingress asks by a call, so it finds a decision about the request that begins in the
//     reply; a peer is notified over its connection, in the order of its other messages.
//  2. An operator's cancel is sent to the engines before it is counted and reported, and is then
//     not announced again in the same step.
//
// Thread rule: the loop's thread. Source: specification, 'Architecture'.
#pragma once

#include <span>

#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/ingress/ingress_session.hpp"
#include "supervisor/runtime/loop/core_loop.hpp"
#include "supervisor/runtime/sessions/sdk_sessions.hpp"

namespace lastcall::runtime {

class RequestOrders {
 public:
  RequestOrders(CoreLoop const& loop, ipc::Server& server, SdkSessions& sdks,
                IngressSession& ingress)
      : loop_(loop), server_(server), sdks_(sdks), ingress_(ingress) {}

  /// Called with each step before it is reported; sends the cancels of an operator.
  void send_ahead(lifecycle::Event const& event, std::span<lifecycle::Action const> actions);

  void admit(lifecycle::Admit const& order);
  void reject(lifecycle::Reject const& order);
  void cancels_ready(lifecycle::CancelsReady const& order);

 private:
  void announce_cancels(lifecycle::PeerId peer);

  CoreLoop const& loop_;
  ipc::Server& server_;
  SdkSessions& sdks_;
  IngressSession& ingress_;
  bool cancels_are_sent_ = false;  // of the current step
};

}  // namespace lastcall::runtime
