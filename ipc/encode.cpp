// One writer for each message; the counterpart of the two decoders.
#include <array>
#include <charconv>
#include <span>
#include <type_traits>

#include "ipc/codec.hpp"
#include "ipc/line_writer.hpp"
#include "ipc/ops.hpp"

namespace lastcall::ipc {
namespace {

void write_engine_facts(LineWriter& w, EngineFacts const& m) {
  w.begin_object("engine");
  w.number("pid", m.pid > 0 ? std::optional(static_cast<std::uint64_t>(m.pid)) : std::nullopt);
  w.required_text("state", name(m.state));
  w.at("started_at_ms", m.started_at);
  w.at("exited_at_ms", m.exited_at);
  w.number("code", m.code);
  w.number("signal", m.signal);
  w.flag("oom", m.oom);
  w.flag("ordered", m.ordered);
  w.number("alive", m.alive);
  w.end_object();
}

void write(LineWriter& w, Hello const& m) {
  w.number("version", m.version);
  w.required_text("role", name(m.role));
  w.text("name", m.name, kMaxId);
  w.text("sdk", m.sdk, kMaxId);
  w.flag("critical", m.critical);
  if (m.live > 0) {
    w.number("live", m.live);
  }
  if (m.shim) {
    w.id("boot", m.shim->boot);
    w.flag("run", m.shim->run);
    write_engine_facts(w, m.shim->engine);
    w.at("stop_at_ms", m.shim->stop_at);
    w.text("blob", m.shim->blob, kMaxBlob);
  }
}

void write(LineWriter& w, EndpointRegister const& m) {
  w.id("endpoint", m.endpoint);
  w.boolean("graceful_shutdown", m.graceful_shutdown);
  w.text("model", m.model, kMaxId);
}

void write(LineWriter& w, EndpointUnregister const& m) {
  w.id("endpoint", m.endpoint);
}

void write(LineWriter& w, RequestBegin const& m) {
  w.id("id", m.id);
  w.text("root", m.root, kMaxId);
  w.text("parent", m.parent, kMaxId);
  w.text("endpoint", m.endpoint, kMaxId);
  w.text("model", m.model, kMaxId);
  if (m.stream) {
    w.boolean("stream", *m.stream);
  }
  w.flag("admit", m.admit);
  w.flag("resumed", m.resumed);
  if (m.priority != lifecycle::kUsualPriority) {
    w.number("priority", std::uint64_t{m.priority});
  }
  if (m.way) {
    std::array<char, 16> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), *m.way, 16);
    w.required_text("way", {digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
  }
  w.at("began_at_ms", m.began_at);
}

void write(LineWriter& w, RequestEnd const& m) {
  w.id("id", m.id);
  w.required_text("outcome", name(m.outcome));
}

void write(LineWriter& w, RequestProgress const& m) {
  w.ids("ids", m.ids);
}

void write(LineWriter& w, Cancel const& m) {
  if (m.root.empty()) {
    w.ids("ids", m.ids);
  } else {
    w.id("root", m.root);
  }
  w.required_text("mode", name(m.mode));
  w.required_text("reason", name(m.reason));
}

void write(LineWriter& w, CancelDone const& m) {
  w.id("id", m.id);
}

void write(LineWriter& w, Health const& m) {
  w.required_text("status", name(m.status));
  w.text("detail", m.detail);
}

void write(LineWriter& w, Load const& m) {
  w.number("dp_rank", m.dp_rank);
  w.number("active_decode_blocks", m.active_decode_blocks);
  w.number("kv_total_blocks", m.kv_total_blocks);
  w.number("active_prefill_tokens", m.active_prefill_tokens);
}

void write(LineWriter& w, Fatal const& m) {
  w.required_text("reason", m.reason);
  w.text("detail", m.detail);
}

void write(LineWriter& w, EngineStarted const& m) {
  w.number("pid", m.pid > 0 ? std::optional(static_cast<std::uint64_t>(m.pid)) : std::nullopt);
  w.at("at_ms", m.at);
}

void write(LineWriter& w, EngineExited const& m) {
  w.number("code", m.code);
  w.number("signal", m.signal);
  w.boolean("oom", m.oom);
  w.flag("ordered", m.ordered);
  w.at("at_ms", m.at);
  w.number("alive", m.alive);
}

void write(LineWriter& w, EngineTree const& m) {
  w.number("alive", m.alive);
  if (!m.names.empty()) {
    w.ids("names", m.names);
  }
}

void write(LineWriter& w, EngineDied const& m) {
  w.number("pid", static_cast<std::uint64_t>(m.pid));
  w.required_text("name", m.name, kMaxId);
  w.number("signal", m.signal);
  w.at("at_ms", m.at);
  w.flag("ordered", m.ordered);
  w.number("alive", m.alive);
  if (!m.names.empty()) {
    w.ids("names", m.names);
  }
}

void write(LineWriter& w, EngineStopped const& m) {
  w.number("pid", static_cast<std::uint64_t>(m.pid));
  w.required_text("name", m.name, kMaxId);
}

void write(LineWriter& w, Signal const& m) {
  w.required_text("name", m.name, kMaxSignalName);
  w.at("at_ms", m.at);
}

void write(LineWriter& w, RequestsQuery const& m) {
  w.text("after", m.after, kMaxCursor);
  w.number("limit", m.limit);
}

void write(LineWriter& w, Watch const& m) {
  w.ms("interval_ms", m.interval);
}

void write(LineWriter& w, Drain const& m) {
  w.flag("exit", m.exit);
  w.ms("timeout_ms", m.timeout);
}

void write(LineWriter& w, AdmissionSet const& m) {
  w.change("engine_request_limit", m.engine_request_limit);
  w.change("queue_limit", m.queue_limit);
  w.change("queue_timeout_ms", m.queue_timeout_ms);
  w.change("engine_wait_limit", m.engine_wait_limit);
}

void write(LineWriter& w, ThresholdsSet const& m) {
  w.text("model", m.model, kMaxId);
  w.change("active_decode_blocks_threshold", m.active_decode_blocks_threshold);
  w.change("active_prefill_tokens_threshold", m.active_prefill_tokens_threshold);
}

void write(LineWriter& w, Welcome const& m) {
  w.number("version", m.version);
  w.required_text("phase", name(m.phase));
  w.ms("grace_ms", m.grace);
  w.begin_object("budgets");
  w.ms("deregister_ms", m.budgets.deregister);
  w.ms("late_accept_ms", m.budgets.late_accept);
  w.ms("cleanup_reserve_ms", m.budgets.cleanup_reserve);
  w.ms("cancel_settle_ms", m.budgets.cancel_settle);
  w.end_object();
  w.ms("rest_grace_ms", m.rest_grace);
  w.text("probe", m.probe, kMaxId);
}

void write(LineWriter& w, PhaseChange const& m) {
  w.required_text("phase", name(m.phase));
  w.at("deadline_at_ms", m.deadline_at);
}

void write(LineWriter& w, Admitted const& m) {
  w.id("id", m.id);
}

void write(LineWriter& w, Rejected const& m) {
  w.id("id", m.id);
  w.required_text("reason", name(m.reason));
  w.ms("retry_after_ms", m.retry_after);
  w.number("limit", m.limit);
  w.number("count", m.count);
  w.text("detail", m.detail);
}

void write(LineWriter& w, CancelBatch const& m) {
  w.ids("ids", m.ids);
  w.required_text("mode", name(m.mode));
  w.required_text("reason", name(m.reason));
}

void write(LineWriter& w, HealthCleared const& m) {
  w.at("at_ms", m.at);
}

void write(LineWriter& w, Cleanup const& m) {
  w.at("deadline_at_ms", m.deadline_at);
}

void write(LineWriter& w, Remember const& m) {
  w.required_text("blob", m.blob, kMaxBlob);
}

void write(LineWriter& w, Will const& m) {
  w.required_text("mode", name(m.mode));
  w.at("deadline_at_ms", m.deadline_at);
  w.number("code", m.code);
  w.text("report", m.report, kMaxWillReport);
}

void write(LineWriter& w, Prestop const& m) {
  w.required_text("container", name(m.container));
}

void write(LineWriter& w, EngineSignal const& m) {
  w.required_text("name", m.name, kMaxSignalName);
  w.required_text("scope", name(m.scope));
}

void write(LineWriter& w, Exit const& m) {
  w.number("code", std::optional(m.code));
  w.text("report", m.report, kMaxReport);
}

void write(LineWriter& w, StatusUpdate const& m) {
  w.raw("status", m.status.empty() ? "{}" : m.status);
}

void write(LineWriter& w, Ack const& m) {
  w.raw("result", m.result);
}

void write(LineWriter& w, Error const& m) {
  w.required_text("code", name(m.code));
  w.text("message", m.message);
}

// In an answer seq is a field that names the line that it answers.
std::optional<std::uint64_t> seq_of(Ack const& m, std::optional<std::uint64_t>) {
  return m.seq;
}
std::optional<std::uint64_t> seq_of(Error const& m, std::optional<std::uint64_t>) {
  return m.seq;
}
template <typename Message>
std::optional<std::uint64_t> seq_of(Message const&, std::optional<std::uint64_t> seq) {
  return seq;
}

template <typename Variant>
bool encode_any(Variant const& message, std::optional<std::uint64_t> seq, std::string& out) {
  return std::visit(
      [&](auto const& m) {
        LineWriter writer(out, op_of(message), seq_of(m, seq));
        if constexpr (!std::is_empty_v<std::decay_t<decltype(m)>>) {
          write(writer, m);
        }
        return writer.finish();
      },
      message);
}

}  // namespace

bool encode(ToSupervisor const& message, std::optional<std::uint64_t> seq, std::string& out) {
  return encode_any(message, seq, out);
}

bool encode(FromSupervisor const& message, std::optional<std::uint64_t> seq, std::string& out) {
  return encode_any(message, seq, out);
}

std::size_t encode_cancels(CancelBatch const& batch, std::size_t first, std::string& out) {
  // An escape makes a byte at most six times as long; the quotes and the comma are added.
  constexpr std::size_t kEnvelope = 128;
  std::size_t room = kMaxLine - kEnvelope;
  std::size_t last = first;
  while (last < batch.ids.size()) {
    std::size_t const most = batch.ids[last].size() * 6 + 3;
    if (most > room) {
      break;
    }
    room -= most;
    ++last;
  }
  LineWriter writer(out, "cancel", std::nullopt);
  writer.ids("ids", std::span(batch.ids).subspan(first, last - first));
  writer.required_text("mode", name(batch.mode));
  writer.required_text("reason", name(batch.reason));
  (void)writer.finish();
  return last;
}

}  // namespace lastcall::ipc
