// Actions, snapshots and reports as lines of a scenario's trace.
#include "core/remembered.hpp"
#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

std::string_view name(Refusal code) {
  switch (code) {
    case Refusal::duplicate_id:
      return "duplicate_id";
    case Refusal::not_yours:
      return "not_yours";
    case Refusal::bad_field:
      return "bad_field";
    case Refusal::conflict:
      return "conflict";
    case Refusal::busy:
      return "busy";
  }
  return "?";
}

/// What the blob says, without its spelling.
std::string remembered_text(std::string const& blob) {
  auto const decoded = decode_remembered(blob);
  if (!decoded) {
    return "remember unreadable";
  }
  auto const& progress = decoded->progress;
  Line line("remember");
  line.word(lifecycle::name(progress.phase));
  if (progress.stop) {
    line.key("cause", lifecycle::name(progress.stop->cause.kind));
    line.key("deadline", progress.stop->deadline);
  }
  line.key("limit", progress.drain_limit);
  if (decoded->cleanup_step != 0) {
    line.key("step", std::int64_t{decoded->cleanup_step});
  }
  if (decoded->sdk_peers != 0) {
    line.key("peers", std::int64_t{decoded->sdk_peers});
  }
  line.flag("died_with_work", decoded->died_with_work);
  if (progress.hook) {
    line.key("hook", progress.hook->called_at).flag("deletion", progress.hook->deletion);
    line.key("grace", progress.hook->grace);
  }
  if (decoded->silence != Silence::none) {
    line.key("silence", lifecycle::name(decoded->silence));
  }
  line.key("condemned", decoded->condemned);
  return line.take();
}

void put_record(Line& line, std::string_view phase, PhaseRecord const& record) {
  if (record.outcome != PhaseOutcome::skipped) {
    line.key(phase, std::string(lifecycle::name(record.outcome)) + "/" + text_of(record.elapsed));
  }
}

std::string report_text(Report const& report) {
  Line line("report");
  line.text("cause", report.cause).key("mode", lifecycle::name(report.mode));
  line.key("code", std::int64_t{report.exit_code}).key("left", report.time_left);
  put_record(line, "deregistering", report.deregistering);
  put_record(line, "draining", report.draining);
  put_record(line, "cleaning_up", report.cleaning_up);
  line.key("in_flight", lifecycle::name(report.source));
  line.key("at_end", signed_of(report.in_flight_at_end));
  for (std::size_t i = 0; i < report.requests.size(); ++i) {
    if (report.requests[i] != 0) {
      line.key(vocabulary::kOutcomes[i], static_cast<std::int64_t>(report.requests[i]));
    }
  }
  for (std::size_t i = 0; i < report.cleanup.size(); ++i) {
    if (report.cleanup[i].outcome != ItemOutcome::skipped) {
      line.key(vocabulary::kCleanupItems[i], lifecycle::name(report.cleanup[i].outcome));
    }
  }
  if (report.ignored_signals != 0) {
    line.key("ignored_signals", static_cast<std::int64_t>(report.ignored_signals));
  }
  return line.take();
}

struct ActionPrinter {
  Lifecycle& core;
  Instant now;
  std::vector<std::string>& out;

  void operator()(Remember const& a) { out.push_back(remembered_text(a.blob)); }
  void operator()(ForgetStopRecord const&) { out.push_back("forget_stop_record"); }
  void operator()(LeaveWill const& a) {
    Line line("leave_will");
    line.word(lifecycle::name(a.phase)).word(lifecycle::name(a.mode)).key("deadline", a.deadline);
    out.push_back(
        line.key("code", a.code ? std::optional<std::int64_t>(*a.code) : std::nullopt).take());
  }
  void operator()(LeaveIngress const&) { out.push_back("leave_ingress"); }
  void operator()(StartEngine const&) { out.push_back("start_engine"); }
  void operator()(RunChecks const&) { out.push_back("run_checks"); }
  void operator()(SignalEngine const& a) {
    out.push_back(Line("signal_engine").word(a.name).flag("all", a.all).take());
  }
  void operator()(ExitShim const& a) {
    out.push_back(Line("exit_shim").word(std::to_string(a.code)).take());
  }
  void operator()(AnnouncePhase const& a) {
    out.push_back(
        Line("announce").word(lifecycle::name(a.phase)).key("deadline", a.deadline).take());
  }
  void operator()(CancelsReady const& a) {
    while (true) {
      CancelBatch const batch = core.take_cancels(a.peer, 64);
      if (batch.ids.empty()) {
        return;
      }
      Line line("cancel");
      line.peer(a.peer).word(lifecycle::name(batch.mode)).word(lifecycle::name(batch.reason));
      for (std::string_view const id : batch.ids) {
        line.word(id);
      }
      out.push_back(line.take());
    }
  }
  void operator()(Admit const& a) {
    out.push_back(Line("admit")
                      .peer(a.peer)
                      .word(a.id)
                      .key("after", a.waited > Duration{0} ? std::optional(a.waited) : std::nullopt)
                      .take());
  }
  void operator()(Reject const& a) {
    Line line("reject");
    line.peer(a.peer).word(a.id).word(lifecycle::name(a.reason));
    if (a.reason != RejectedReason::draining) {
      line.key("retry", a.retry_after);
    }
    line.key("limit", signed_of(a.limit)).key("count", signed_of(a.count));
    out.push_back(line.flag("silent", a.silent).take());
  }
  void operator()(ForgetPeer const& a) { out.push_back(Line("forget_peer").peer(a.peer).take()); }
  void operator()(Refuse const& a) {
    out.push_back(Line("refuse").word(name(a.code)).word(a.message).take());
  }
  void operator()(Answer const& a) { out.push_back(a.changed ? "answer changed" : "answer same"); }
  void operator()(ReleaseHook const& a) {
    out.push_back(Line("release_hook").word(a.why).key("after", a.held).take());
  }
  void operator()(AwaitReplacement const& a) {
    out.push_back(Line("await_replacement").flag("condemned", a.condemned).take());
  }
  void operator()(ReplacementEnded const& a) {
    out.push_back(Line("replacement_ended").word(a.how).take());
  }
  void operator()(DeletionDisproved const&) { out.emplace_back("deletion_disproved"); }
  void operator()(AskToken const& a) {
    Line line("ask_token");
    line.number(a.number).word(lifecycle::name(a.use));
    out.push_back(line.flag("looks_first", a.looks_first).take());
  }
  void operator()(WithdrawToken const&) { out.push_back("withdraw_token"); }
  void operator()(Register const&) { out.push_back("register"); }
  void operator()(Deregister const& a) {
    out.push_back(Line("deregister").key("by", a.deadline).flag("returns", a.returns).take());
  }
  void operator()(StartCleanup const& a) {
    out.push_back(Line("clean_up").word(lifecycle::name(a.item)).key("by", a.deadline).take());
  }
  void operator()(PublishReport const&) { out.push_back(report_text(core.report(now))); }
  void operator()(Rearm const&) { out.push_back("rearm"); }
  void operator()(ExitSupervisor const& a) {
    out.push_back(Line("exit_supervisor").word(std::to_string(a.code)).take());
  }
  void operator()(StopBegun const& a) {
    out.push_back(Line("stop_begun")
                      .word(a.cause)
                      .word(lifecycle::name(a.mode))
                      .key("deadline", a.deadline)
                      .text("detail", a.detail)
                      .take());
  }
  void operator()(SignalIgnored const& a) {
    out.push_back(Line("signal_ignored").word(a.name).flag("first", a.first).take());
  }
  void operator()(DrainAborted const& a) {
    out.push_back(Line("drain_aborted").word(a.cause).text("detail", a.detail).take());
  }
  void operator()(PhaseBegun const& a) {
    out.push_back(Line("phase").word(lifecycle::name(a.phase)).word("begun").take());
  }
  void operator()(PhaseEnded const& a) {
    Line line("phase");
    line.word(lifecycle::name(a.phase)).word(lifecycle::name(a.outcome));
    line.key("after", a.elapsed).key("left", a.left);
    if (a.in_flight != 0) {
      line.key("in_flight", static_cast<std::int64_t>(a.in_flight));
    }
    out.push_back(line.take());
  }
  // The log's own words, as the specification has them.
  void operator()(GracefulEndpoints const& a) {
    out.push_back("log: Active graceful endpoints: " + std::to_string(a.active));
  }
  void operator()(LastEndpointCompleted const&) {
    out.push_back("log: Last endpoint completed, notifying all waiters");
  }
  void operator()(VerdictChanged const& a) {
    out.push_back(Line("verdict").word(lifecycle::name(a.verdict)).word(a.reason).take());
  }
  void operator()(RequestSettled const& a) {
    out.push_back(Line("settled")
                      .word(lifecycle::name(a.outcome))
                      .text("endpoint", a.endpoint)
                      .text("model", a.model)
                      .key("after", a.elapsed)
                      .take());
  }
  void operator()(BusyChanged const& a) { out.push_back(a.busy ? "busy" : "not_busy"); }
  void operator()(CancelCounted const& a) {
    out.push_back(Line("cancel_counted")
                      .word(lifecycle::name(a.reason))
                      .text("endpoint", a.endpoint)
                      .text("model", a.model)
                      .text("stream", !a.stream   ? ""
                                      : *a.stream ? "true"
                                                  : "false")
                      .take());
  }
  void operator()(CancelSettled const& a) {
    out.push_back(
        Line("cancel_confirmed").word(lifecycle::name(a.reason)).key("after", a.elapsed).take());
  }
};

}  // namespace

std::vector<std::string> text_of(Lifecycle& core, std::span<Action const> actions, Instant now) {
  std::vector<std::string> lines;
  for (Action const& action : actions) {
    std::visit(ActionPrinter{core, now, lines}, action);
  }
  return lines;
}

std::string status_text(Lifecycle const& core) {
  Snapshot const s = core.snapshot();
  Line line("status");
  line.word(lifecycle::name(s.phase)).key("verdict", lifecycle::name(s.verdict));
  line.key("engine", lifecycle::name(s.engine));
  line.key("in_flight", static_cast<std::int64_t>(s.in_flight));
  line.key("source", lifecycle::name(s.source));
  line.key("graceful", std::int64_t{s.active_graceful});
  line.key("late", static_cast<std::int64_t>(s.late));
  line.key("peers", std::int64_t{s.peers}).flag("registered", s.registered);
  if (s.stop) {
    line.key("cause", lifecycle::name(s.stop->cause.kind)).key("deadline", s.stop->deadline);
  }
  if (s.hook) {
    line.key("hook", s.hook->waits ? "waits" : "returned").key("limit", s.hook->limit);
    line.flag("deletion", s.hook->deletion);
  }
  if (s.replacement) {
    line.key("awaits", s.replacement->condemned ? "a restart of the condemned" : "a replacement");
  }
  if (s.admission.waiting > 0) {
    line.key("waiting", static_cast<std::int64_t>(s.admission.waiting));
  }
  return line.key("next", core.next_deadline()).take();
}

}  // namespace lastcall::simulation
