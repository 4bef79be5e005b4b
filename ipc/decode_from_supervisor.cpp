// The messages that a client reads: one reader for each message.
#include "ipc/codec.hpp"
#include "ipc/decode_line.hpp"
#include "ipc/ops.hpp"

namespace lastcall::ipc {
namespace {

constexpr std::uint64_t kMaxExitCode = 255;

WelcomeBudgets read_budgets(Fields& welcome) {
  std::vector<json::Member> const members = welcome.object("budgets");
  WelcomeBudgets budgets;
  if (!welcome.has("budgets")) {
    welcome.error().fail("budgets", "is missing, expected an object");
    return budgets;
  }
  Fields f(members, "budgets.");
  budgets.deregister = f.required_duration("deregister_ms");
  budgets.late_accept = f.required_duration("late_accept_ms");
  budgets.cleanup_reserve = f.required_duration("cleanup_reserve_ms");
  budgets.cancel_settle = f.required_duration("cancel_settle_ms");
  welcome.error().adopt(f.error());
  return budgets;
}

void read(Fields& f, Welcome& m) {
  m.version = f.required_number("version", 0, kMaxMs);
  m.phase = f.word<Phase>("phase");
  m.grace = f.required_duration("grace_ms");
  m.budgets = read_budgets(f);
  m.rest_grace = f.duration("rest_grace_ms");
  m.probe = f.text("probe", kMaxId);
}

void read(Fields& f, PhaseChange& m) {
  m.phase = f.word<Phase>("phase");
  m.deadline_at = f.instant("deadline_at_ms");
}

void read(Fields& f, Admitted& m) {
  m.id = f.id("id");
}

void read(Fields& f, Rejected& m) {
  m.id = f.id("id");
  m.reason = f.growing_word("reason", RejectedReason::overloaded);
  m.retry_after = f.duration("retry_after_ms");
  m.limit = f.number("limit", 0, kMaxMs);
  m.count = f.number("count", 0, kMaxMs);
  m.detail = f.text("detail");
}

void read(Fields& f, CancelBatch& m) {
  m.ids = f.ids("ids");
  m.mode = f.growing_word("mode", CancelMode::stop);
  m.reason = f.growing_word("reason", CancelReason::control);
}

void read(Fields& f, HealthCleared& m) {
  m.at = f.required_instant("at_ms");
}

void read(Fields& f, Cleanup& m) {
  m.deadline_at = f.required_instant("deadline_at_ms");
}

void read(Fields& f, Remember& m) {
  m.blob = f.required_text("blob", kMaxBlob);
}

void read(Fields& f, Will& m) {
  m.mode = f.word<StopMode>("mode");
  m.deadline_at = f.required_instant("deadline_at_ms");
  if (auto const code = f.number("code", 0, kMaxExitCode)) {
    m.code = static_cast<int>(*code);
  }
  m.report = f.text("report", kMaxWillReport);
}

void read(Fields& f, EngineSignal& m) {
  m.name = f.signal_name("name");
  m.scope = f.optional_word<SignalScope>("scope").value_or(m.scope);
}

void read(Fields& f, Exit& m) {
  m.code = static_cast<int>(f.required_number("code", 0, kMaxExitCode));
  m.report = f.text("report", kMaxReport);
}

void read(Fields& f, StatusUpdate& m) {
  m.status = f.required_raw_object("status");
}

constexpr auto kReadersFromSupervisor = make_readers<FromSupervisor>(
    [](Fields& f, auto& m) { read(f, m); }, std::make_index_sequence<kFromSupervisorOps.size()>{});

}  // namespace

FromSupervisorLine decode_from_supervisor(std::string_view line) {
  return decode_line<FromSupervisor>(line, kFromSupervisorOps, kReadersFromSupervisor);
}

}  // namespace lastcall::ipc
