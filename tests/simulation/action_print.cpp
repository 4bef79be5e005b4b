// Actions, snapshots and reports as lines of a scenario's trace.
#include "core/remembered.hpp"
#include "tests/simulation/event_text.hpp"
#include "tests/simulation/shape_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

/// The content of the blob, without its spelling.
std::string remembered_text(std::string const& blob) {
  auto const decoded = decode_remembered(blob);
  if (!decoded) {
    return "remember unreadable";
  }
  auto const& progress = decoded->progress;
  Line line("remember");
  line.word(name(progress.phase));
  if (progress.stop) {
    line.key("cause", name(progress.stop->cause.kind));
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
    line.key("silence", name(decoded->silence));
  }
  line.key("condemned", decoded->condemned);
  return line.take();
}

void put_record(Line& line, std::string_view phase, PhaseRecord const& record) {
  if (record.outcome != PhaseOutcome::skipped) {
    line.key(phase, std::string(name(record.outcome)) + "/" + text_of(record.elapsed));
  }
}

std::string report_text(Report const& report) {
  Line line("report");
  line.text("cause", report.cause).key("mode", name(report.mode));
  line.key("code", std::int64_t{report.exit_code}).key("left", report.time_left);
  put_record(line, "deregistering", report.deregistering);
  put_record(line, "draining", report.draining);
  put_record(line, "cleaning_up", report.cleaning_up);
  line.key("in_flight", name(report.source));
  if (report.in_flight_at_end) {
    line.key("at_end", static_cast<std::int64_t>(*report.in_flight_at_end));
  }
  if (report.unseen) {
    line.key("unseen", static_cast<std::int64_t>(*report.unseen));
  }
  for (std::size_t i = 0; i < report.requests.size(); ++i) {
    if (report.requests[i] != 0) {
      line.key(vocabulary::kWordsOf<Outcome>[i], static_cast<std::int64_t>(report.requests[i]));
    }
  }
  for (std::size_t i = 0; i < report.cleanup.size(); ++i) {
    if (report.cleanup[i].outcome != ItemOutcome::skipped) {
      line.key(vocabulary::kWordsOf<CleanupItem>[i], name(report.cleanup[i].outcome));
    }
  }
  if (report.ignored_signals != 0) {
    line.key("ignored_signals", static_cast<std::int64_t>(report.ignored_signals));
  }
  return line.take();
}

/// Most actions are their shape's line; for a few the trace shows what is behind them.
struct ActionPrinter {
  Lifecycle& core;
  Instant now;
  std::vector<std::string>& out;

  void operator()(auto const& action) { out.push_back(line_of(action, now)); }
  void operator()(Remember const& action) { out.push_back(remembered_text(action.blob)); }
  void operator()(PublishReport const&) { out.push_back(report_text(core.report(now))); }
  void operator()(CancelsReady const& action) {
    while (true) {
      CancelBatch const batch = core.take_cancels(action.peer, 64);
      if (batch.ids.empty()) {
        return;
      }
      Line line("cancel");
      line.peer(action.peer).word(name(batch.mode)).word(name(batch.reason));
      for (std::string_view const id : batch.ids) {
        line.word(id);
      }
      out.push_back(line.take());
    }
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
  line.word(name(s.phase)).key("verdict", name(s.verdict));
  line.key("engine", name(s.engine));
  line.key("in_flight", static_cast<std::int64_t>(s.in_flight));
  line.key("source", name(s.source));
  line.key("graceful", std::int64_t{s.active_graceful});
  line.key("late", static_cast<std::int64_t>(s.late));
  line.key("peers", std::int64_t{s.peers}).flag("registered", s.registered);
  if (s.stop) {
    line.key("cause", name(s.stop->cause.kind)).key("deadline", s.stop->deadline);
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
