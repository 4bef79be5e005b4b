// Events as lines of the scenario language; event_parse.cpp reads them back.
#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

std::string_view name(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::passed:
      return "passed";
    case CheckVerdict::busy:
      return "busy";
    case CheckVerdict::failed:
      return "failed";
    case CheckVerdict::timed_out:
      return "timed_out";
  }
  return "?";
}

void put_exit(Line& line, EngineExit const& exit) {
  if (exit.signal != 0) {
    line.key("signal", std::int64_t{exit.signal});
  } else {
    line.key("code", std::int64_t{exit.code});
  }
  line.flag("oom", exit.oom);
}

void put_alive(Line& line, std::optional<std::uint32_t> alive) {
  line.key("alive", alive ? std::optional(std::int64_t{*alive}) : std::nullopt);
}

/// One overload an event; each line is the mirror of parse_*() in event_parse.cpp.
struct EventPrinter {
  Instant now;

  std::string operator()(SupervisorStarted const&) const { return "started"; }
  std::string operator()(StopRecordRead const& e) const {
    return Line("stop_record").key("blob", e.blob).take();
  }
  std::string operator()(OwnSignal const& e) const {
    return Line("own_signal").word(e.name).take();
  }
  std::string operator()(DeletionSeen const& e) const {
    return Line("deletion_seen").key("grace", e.grace).take();
  }
  std::string operator()(EngineStopHook const&) const { return "engine_stop_hook"; }
  std::string operator()(EngineReplaced const& e) const {
    return Line("engine_replaced").text("how", e.how).take();
  }
  std::string operator()(TimerExpired const& e) const {
    Line line("timer");
    return e.late == Duration{0} ? line.take() : line.key("late", e.late).take();
  }
  std::string operator()(ShimHello const& e) const {
    Line line("shim");
    line.key("boot", e.boot).flag("run", e.run).key("engine", lifecycle::name(e.engine));
    line.key("started_at", e.started_at);
    if (e.engine == EngineState::exited) {
      put_exit(line, e.exit);
      line.key("exited_at", e.exited_at);
      put_alive(line, e.alive);
    }
    line.flag("ordered", e.ordered).key("stop_at", e.stop_at).text("blob", e.blob);
    return line.take();
  }
  std::string operator()(ShimDisconnected const& e) const {
    return Line("shim_disconnected").flag("watched", e.watched).flag("oom", e.oom).take();
  }
  std::string operator()(ShimGone const& e) const {
    return Line("shim_gone").flag("oom", e.oom).take();
  }
  std::string operator()(StopSignalHeld const& e) const {
    Line line("signal");
    line.word(e.name);
    return e.at == now ? line.take() : line.key("at", e.at).take();
  }
  std::string operator()(EngineStarted const&) const { return "engine_started"; }
  std::string operator()(EngineExited const& e) const {
    Line line("engine_exited");
    put_exit(line, e.exit);
    put_alive(line, e.alive);
    return line.flag("ordered", e.ordered).key("at", e.at).take();
  }
  std::string operator()(EngineTreeSeen const& e) const {
    Line line("engine_tree");
    line.number(e.alive);
    for (std::string const& process : e.names) {
      line.word(process);
    }
    return line.take();
  }
  std::string operator()(EngineProcessDied const& e) const {
    return Line("process_died")
        .word(e.name)
        .key("pid", e.pid)
        .key("signal", e.signal != 0 ? std::optional(std::int64_t{e.signal}) : std::nullopt)
        .key("at", e.at == now ? std::nullopt : std::optional(e.at))
        .take();
  }
  std::string operator()(DrainRequested const& e) const {
    return Line("drain").flag("exit", e.exit).key("timeout", e.timeout).take();
  }
  std::string operator()(ResumeRequested const&) const { return "resume"; }
  std::string operator()(CancelRequested const& e) const {
    Line line("cancel");
    line.word(lifecycle::name(e.mode)).word(lifecycle::name(e.reason));
    if (e.by) {
      line.key("peer", name_of(*e.by));
    }
    line.text("root", e.root);
    for (std::string const& id : e.ids) {
      line.word(id);
    }
    return line.take();
  }
  std::string operator()(PeerConnected const& e) const {
    return Line("peer")
        .peer(e.peer)
        .text("name", e.name)
        .flag("critical", e.critical)
        .flag("watched", e.watched)
        .key("live", e.live != 0 ? std::optional(std::int64_t{e.live}) : std::nullopt)
        .take();
  }
  std::string operator()(PeerDisconnected const& e) const {
    return Line("peer_disconnected").peer(e.peer).take();
  }
  std::string operator()(PeerGone const& e) const { return Line("peer_gone").peer(e.peer).take(); }
  std::string operator()(EndpointRegistered const& e) const {
    return Line("endpoint")
        .peer(e.peer)
        .word(e.endpoint)
        .word(e.graceful ? "graceful" : "not_graceful")
        .take();
  }
  std::string operator()(EndpointUnregistered const& e) const {
    return Line("endpoint_gone").peer(e.peer).word(e.endpoint).take();
  }
  std::string operator()(RequestBegun const& e) const {
    return Line("begin")
        .peer(e.peer)
        .word(e.id)
        .text("endpoint", e.endpoint)
        .text("model", e.model)
        .text("root", e.root)
        .text("parent", e.parent)
        .text("stream", !e.stream   ? ""
                        : *e.stream ? "true"
                                    : "false")
        .flag("admit", e.admit)
        .flag("resumed", e.resumed)
        .key("priority",
             e.priority == kUsualPriority ? std::nullopt : std::optional(std::int64_t{e.priority}))
        .key("way", e.way ? std::optional(static_cast<std::int64_t>(*e.way)) : std::nullopt)
        .take();
  }
  std::string operator()(RequestEnded const& e) const {
    return Line("end").peer(e.peer).word(e.id).word(lifecycle::name(e.outcome)).take();
  }
  std::string operator()(RequestProgressed const& e) const {
    Line line("progress");
    line.peer(e.peer);
    for (std::string const& id : e.ids) {
      line.word(id);
    }
    return line.take();
  }
  std::string operator()(CancelConfirmed const& e) const {
    return Line("confirm").peer(e.peer).word(e.id).take();
  }
  std::string operator()(PeerFatal const& e) const {
    return Line("fatal").peer(e.peer).word(e.reason).text("detail", e.detail).take();
  }
  std::string operator()(PeerCleanedUp const& e) const {
    return Line("cleaned_up").peer(e.peer).take();
  }
  std::string operator()(LoadReported const& e) const {
    Line line("load");
    line.key("peer", e.peer ? std::optional(name_of(*e.peer)) : std::nullopt).number(e.rank);
    return line.key("blocks", signed_of(e.active_decode_blocks))
        .key("of", signed_of(e.kv_total_blocks))
        .key("prefill", signed_of(e.active_prefill_tokens))
        .take();
  }
  std::string operator()(AdmissionLimitsChanged const& e) const {
    Line line("limits");
    put_admission(line, e.limits);
    return line.take();
  }
  std::string operator()(EngineProcessStopped const& e) const {
    return Line("engine_stopped").word(std::to_string(e.pid)).word(e.name).take();
  }
  std::string operator()(LoadThresholdsChanged const& e) const {
    Line line("thresholds");
    put_load(line, e.thresholds);
    return line.take();
  }
  std::string operator()(CheckFinished const& e) const {
    Line line("check");
    line.number(e.check).word(name(e.verdict)).text("detail", e.detail);
    return line.key("took", e.took > Duration{0} ? std::optional(e.took) : std::nullopt).take();
  }
  std::string operator()(HealthLimitsChanged const& e) const {
    Line line("health_limits");
    line.key("unresponsive_after", e.unresponsive_after)
        .key("stalled_after", e.stalled_after)
        .key("startup_timeout", e.startup_timeout);
    for (std::uint32_t const threshold : e.failure_thresholds) {
      line.number(threshold);
    }
    return line.take();
  }
  std::string operator()(GaugesRead const& e) const {
    Line line("gauges");
    if (!e.in_flight) {
      return line.word("unreadable").take();
    }
    line.number(*e.in_flight);
    if (e.tokens) {
      line.key("tokens", static_cast<std::int64_t>(*e.tokens));
    }
    return line.key("load", signed_of(e.load)).key("cache", signed_of(e.cache)).take();
  }
  std::string operator()(TokenSent const& e) const {
    return Line("token_sent").number(e.number).take();
  }
  std::string operator()(TokenAnswered const& e) const {
    return Line("token").number(e.number).word(lifecycle::name(e.outcome)).take();
  }
  std::string operator()(RegistrySettled const& e) const {
    return Line("registry")
        .number(e.registry)
        .word(e.confirmed ? "confirmed" : "failed")
        .text("detail", e.detail)
        .take();
  }
  std::string operator()(CleanupSettled const& e) const {
    return Line("cleanup")
        .word(lifecycle::name(e.item))
        .word(lifecycle::name(e.outcome))
        .text("detail", e.detail)
        .take();
  }
};

}  // namespace

std::string text_of(Event const& event, Instant now) {
  return std::visit(EventPrinter{now}, event);
}

}  // namespace lastcall::simulation
