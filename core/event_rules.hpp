// The meaning of each event to the machines: one handler for each event, in the order of event.hpp.
//
// A handler notifies the machines of what happened and gives the orders that do not follow from
// their joint state; everything else is left to the joint rules, which run after it
// (lifecycle.cpp). Owned by the core's thread.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

// stop_rules.cpp
void on(Machines& m, Instant now, SupervisorStarted const&);
void on(Machines& m, Instant now, OwnSignal const&);
void on(Machines& m, Instant now, TimerExpired const&);
void on(Machines& m, Instant now, StopSignalHeld const&);
void on(Machines& m, Instant now, DrainRequested const&);
void on(Machines& m, Instant now, ResumeRequested const&);
// hook_rules.cpp
void on(Machines& m, Instant now, DeletionSeen const&);
void on(Machines& m, Instant now, EngineStopHook const&);
void on(Machines& m, Instant now, EngineReplaced const&);
// memory_rules.cpp
void on(Machines& m, Instant now, StopRecordRead const&);
// engine_rules.cpp
void on(Machines& m, Instant now, ShimHello const&);
void on(Machines& m, Instant now, ShimDisconnected const&);
void on(Machines& m, Instant now, ShimGone const&);
void on(Machines& m, Instant now, EngineStarted const&);
void on(Machines& m, Instant now, EngineExited const&);
void on(Machines& m, Instant now, EngineTreeSeen const&);
void on(Machines& m, Instant now, EngineProcessDied const&);
void on(Machines& m, Instant now, EngineProcessStopped const&);
void on(Machines& m, Instant now, CheckFinished const&);
void on(Machines& m, Instant now, HealthLimitsChanged const&);
void on(Machines& m, Instant now, GaugesRead const&);
void on(Machines& m, Instant now, EngineRests const&);
void on(Machines& m, Instant now, TokenSent const&);
void on(Machines& m, Instant now, TokenAnswered const&);
// peer_rules.cpp
void on(Machines& m, Instant now, PeerConnected const&);
void on(Machines& m, Instant now, PeerDisconnected const&);
void on(Machines& m, Instant now, PeerGone const&);
void on(Machines& m, Instant now, PeerFatal const&);
void on(Machines& m, Instant now, PeerCleanedUp const&);
void on(Machines& m, Instant now, EndpointRegistered const&);
void on(Machines& m, Instant now, EndpointUnregistered const&);
// request_rules.cpp
void on(Machines& m, Instant now, RequestBegun const&);
void on(Machines& m, Instant now, RequestEnded const&);
void on(Machines& m, Instant now, RequestProgressed const&);
void on(Machines& m, Instant now, CancelConfirmed const&);
void on(Machines& m, Instant now, CancelRequested const&);
// admission_rules.cpp
void on(Machines& m, Instant now, LoadReported const&);
void on(Machines& m, Instant now, AdmissionLimitsChanged const&);
void on(Machines& m, Instant now, LoadThresholdsChanged const&);
// cleanup_rules.cpp
void on(Machines& m, Instant now, CleanupSettled const&);
// registration_rules.cpp
void on(Machines& m, Instant now, RegistrySettled const&);

}  // namespace lastcall::lifecycle::rules
