// One reader for each message: its fields, their limits, their defaults.
#include <charconv>
#include <limits>

#include "ipc/codec.hpp"
#include "ipc/decode_line.hpp"
#include "ipc/ops.hpp"

namespace lastcall::ipc {
namespace {

constexpr std::uint64_t kMaxPid = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMaxCount = 1'000'000'000'000'000;  // a double holds it exactly
constexpr std::uint64_t kMostLimit = 1'000'000;             // as in the configuration
constexpr std::uint64_t kMaxEngineCode = 255;
constexpr std::uint64_t kMaxSignal = 64;

std::optional<int> small(std::optional<std::uint64_t> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

EngineFacts read_engine_facts(Fields& hello) {
  std::vector<json::Member> const members = hello.object("engine");
  EngineFacts engine;
  if (!hello.has("engine")) {
    return engine;
  }
  Fields f(members, "engine.");
  engine.state = f.word<EngineState>("state");
  engine.pid = static_cast<std::int64_t>(f.number("pid", 0, kMaxPid).value_or(0));
  engine.started_at = f.instant("started_at_ms");
  engine.exited_at = f.instant("exited_at_ms");
  engine.code = small(f.number("code", 0, kMaxEngineCode));
  engine.signal = small(f.number("signal", 1, kMaxSignal));
  engine.oom = f.boolean("oom", false);
  engine.ordered = f.boolean("ordered", false);
  engine.alive = f.number("alive", 0, kMaxCount);
  hello.error().adopt(f.error());
  return engine;
}

void read(Fields& f, Hello& m) {
  m.version = f.required_number("version", 0, kMaxCount);
  if (m.version != kProtocolVersion) {
    return f.error().refuse_version(m.version);
  }
  m.role = f.word<Role>("role");
  m.name = f.text("name", kMaxId);
  m.sdk = f.text("sdk", kMaxId);
  m.critical = f.boolean("critical", false);
  m.live = f.number("live", 0, kMaxCount).value_or(0);
  if (m.role == Role::shim && !f.error().is_set()) {
    ShimFacts& shim = m.shim.emplace();
    shim.boot = f.id("boot");
    shim.run = f.boolean("run", false);
    shim.engine = read_engine_facts(f);
    shim.stop_at = f.instant("stop_at_ms");
    shim.blob = f.text("blob", kMaxBlob);
  }
}

/// 1 to 16 hexadecimal digits. Any other text, however long, is not from an ingress but from a
/// client that has called the engine itself, and must not keep its request from being counted.
std::uint64_t way_of(std::string_view text) {
  constexpr int kHexadecimal = 16;
  constexpr std::size_t kMostDigits = 16;
  std::uint64_t way = 0;
  char const* const end = text.data() + text.size();
  bool const is_way =
      text.size() <= kMostDigits && std::from_chars(text.data(), end, way, kHexadecimal).ptr == end;
  return is_way ? way : 0;
}

void read(Fields& f, EndpointRegister& m) {
  m.endpoint = f.id("endpoint");
  m.graceful_shutdown = f.boolean("graceful_shutdown", true);
  m.model = f.text("model", kMaxId);
}

void read(Fields& f, EndpointUnregister& m) {
  m.endpoint = f.id("endpoint");
}

void read(Fields& f, RequestBegin& m) {
  m.id = f.id("id");
  m.root = f.optional_id("root");
  m.parent = f.optional_id("parent");
  m.endpoint = f.text("endpoint", kMaxId);
  m.model = f.text("model", kMaxId);
  m.stream = f.optional_boolean("stream");
  m.admit = f.boolean("admit", false);
  m.resumed = f.boolean("resumed", false);
  m.priority = static_cast<std::uint8_t>(
      f.number("priority", 0, lifecycle::kPriorities - 1).value_or(m.priority));
  if (f.has("way")) {
    m.way = way_of(f.text("way"));
  }
  m.began_at = f.instant("began_at_ms");
}

void read(Fields& f, RequestEnd& m) {
  m.id = f.id("id");
  m.outcome = f.word<Outcome>("outcome");
}

void read(Fields& f, RequestProgress& m) {
  m.ids = f.ids("ids");
}

void read(Fields& f, Cancel& m) {
  if (f.has("ids") == f.has("root")) {
    return f.error().fail("ids", "expected either 'ids' or 'root'");
  }
  if (f.has("ids")) {
    m.ids = f.ids("ids");
  }
  m.root = f.optional_id("root");
  m.mode = f.optional_word<CancelMode>("mode").value_or(m.mode);
  m.reason = f.optional_word<CancelReason>("reason").value_or(m.reason);
}

void read(Fields& f, CancelDone& m) {
  m.id = f.id("id");
}

void read(Fields& f, Health& m) {
  m.status = f.word<HealthStatus>("status");
  m.detail = f.text("detail");
}

void read(Fields& f, Load& m) {
  m.dp_rank = f.number("dp_rank", 0, kMaxCount).value_or(0);
  m.active_decode_blocks = f.number("active_decode_blocks", 0, kMaxCount);
  m.kv_total_blocks = f.number("kv_total_blocks", 0, kMaxCount);
  m.active_prefill_tokens = f.number("active_prefill_tokens", 0, kMaxCount);
}

void read(Fields& f, Fatal& m) {
  m.reason = f.required_text("reason");
  m.detail = f.text("detail");
}

void read(Fields& f, EngineStarted& m) {
  m.pid = static_cast<std::int64_t>(f.number("pid", 0, kMaxPid).value_or(0));
  m.at = f.instant("at_ms");
}

void read(Fields& f, EngineExited& m) {
  m.code = small(f.number("code", 0, kMaxEngineCode));
  m.signal = small(f.number("signal", 1, kMaxSignal));
  m.oom = f.boolean("oom", false);
  m.ordered = f.boolean("ordered", false);
  m.at = f.instant("at_ms");
  m.alive = f.number("alive", 0, kMaxCount);
}

void read(Fields& f, EngineTree& m) {
  m.alive = f.required_number("alive", 0, kMaxCount);
  if (f.has("names")) {
    m.names = f.ids("names");
  }
}

void read(Fields& f, EngineDied& m) {
  m.pid = static_cast<std::int64_t>(f.number("pid", 0, kMaxPid).value_or(0));
  m.name = f.required_text("name", kMaxId);
  m.signal = small(f.number("signal", 1, kMaxSignal));
  m.at = f.required_instant("at_ms");
  m.ordered = f.boolean("ordered", false);
  m.alive = f.number("alive", 0, kMaxCount);
  if (f.has("names")) {
    m.names = f.ids("names");
  }
}

void read(Fields& f, EngineStopped& m) {
  m.pid = static_cast<std::int64_t>(f.number("pid", 0, kMaxPid).value_or(0));
  m.name = f.required_text("name", kMaxId);
}

void read(Fields& f, Signal& m) {
  m.name = f.signal_name("name");
  m.at = f.required_instant("at_ms");
}

void read(Fields& f, RequestsQuery& m) {
  m.after = f.text("after", kMaxCursor);
  m.limit = f.number("limit", 1, kMaxPage).value_or(kDefaultPage);
}

void read(Fields& f, Watch& m) {
  m.interval = f.duration("interval_ms", kLeastWatchMs);
}

void read(Fields& f, Drain& m) {
  m.exit = f.boolean("exit", false);
  m.timeout = f.duration("timeout_ms");
}

void read(Fields& f, AdmissionSet& m) {
  m.engine_request_limit = f.change("engine_request_limit", 1, kMostLimit);
  m.queue_limit = f.change("queue_limit", 0, kMostLimit);
  m.queue_timeout_ms = f.change("queue_timeout_ms", 1, kMaxMs);
  m.engine_wait_limit = f.change("engine_wait_limit", 1, kMostLimit);
}

void read(Fields& f, ThresholdsSet& m) {
  m.model = f.text("model", kMaxId);
  m.active_decode_blocks_threshold = f.share("active_decode_blocks_threshold");
  m.active_prefill_tokens_threshold = f.change("active_prefill_tokens_threshold", 0, kMaxCount);
}

void read(Fields& f, Prestop& m) {
  m.container = f.word<Container>("container");
}

constexpr auto kReadersToSupervisor = make_readers<ToSupervisor>(
    [](Fields& f, auto& m) { read(f, m); }, std::make_index_sequence<kToSupervisorOps.size()>{});

}  // namespace

ToSupervisorLine decode_to_supervisor(std::string_view line) {
  return decode_line<ToSupervisor>(line, kToSupervisorOps, kReadersToSupervisor);
}

}  // namespace lastcall::ipc
