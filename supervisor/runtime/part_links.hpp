// What the supervisor's parts report to each other: the callbacks of each part that has some, made
// of the parts that they concern.
//
// Rules:
//  1. The parameters are exactly the parts that are called; they may be constructed later, and
//     outlive the callbacks.
//  2. A callback that changes what is shown requests `refresh`.
//
// Thread rule: the loop's thread. Source: specification, 'Architecture'.
#pragma once

#include "core/lifecycle.hpp"
#include "supervisor/runtime/cleanup/cleanup_items.hpp"
#include "supervisor/runtime/engine/engine_watch.hpp"
#include "supervisor/runtime/ingress/ingress_session.hpp"
#include "supervisor/runtime/listener/probe_publisher.hpp"
#include "supervisor/runtime/listener/status.hpp"
#include "supervisor/runtime/live_settings.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "supervisor/runtime/loop/once_per_turn.hpp"
#include "supervisor/runtime/loop/own_signals.hpp"
#include "supervisor/runtime/peer_sessions.hpp"
#include "supervisor/runtime/registration.hpp"
#include "supervisor/runtime/step_records.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

ProbePublisher::Handlers probe_handlers(lifecycle::Lifecycle const& core, LiveSettings& settings,
                                        PeerSessions& peers);

EngineWatch::Callbacks engine_callbacks(PeerSessions& peers, IngressSession& ingress,
                                        ProbePublisher& probes, OncePerTurn& refresh);

CleanupItems::Others other_items(PeerSessions& peers, IngressSession& ingress, StepRecords& records,
                                 Registration& registration);

SdkSessions::Listeners sdk_listeners(PeerSessions& peers, EngineWatch& engine,
                                     Registration& registration, ProbePublisher& probes);

IngressReports::Listeners ingress_listeners(lifecycle::Lifecycle const& core, PeerSessions& peers,
                                            EngineWatch& engine, StepRecords& records);

ShimWatch::Callbacks shim_watch_callbacks(ShimWatch const& shim_watch, PeerSessions& peers,
                                          Registration& registration, ProbePublisher& probes,
                                          OncePerTurn& refresh);

OperatorSessions::Answers operator_answers(lifecycle::Lifecycle const& core,
                                           StatusSources const& sources, LiveSettings& settings,
                                           IngressSession& ingress, Registration& registration);

OwnSignals::OnSignal own_signal_handler(EventSink& events, LiveSettings& settings,
                                        ProbePublisher& probes, telemetry::Log& log,
                                        OncePerTurn& refresh);

}  // namespace lastcall::runtime
