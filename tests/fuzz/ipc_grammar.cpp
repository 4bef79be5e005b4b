#include "tests/fuzz/ipc_grammar.hpp"

namespace lastcall::fuzz {
namespace {

using Is = Key::Is;

constexpr std::uint64_t kIdBytes = 256;
constexpr std::uint64_t kMostMs = 1'000'000'000'000'000;
constexpr std::uint64_t kMostOf = 1'000'000'000'000'000;
constexpr std::uint64_t kMostPid = 2'147'483'647;
constexpr std::uint64_t kAnyLength = 0;

constexpr std::string_view kPhases[] = {"starting", "serving",     "deregistering", "draining",
                                        "drained",  "cleaning_up", "exited"};
constexpr std::string_view kModes[] = {"stop", "kill"};
constexpr std::string_view kStopModes[] = {"graceful", "fatal"};
constexpr std::string_view kReasons[] = {
    "client_disconnect", "control", "connection_lost", "parent",
    "operator",          "migrate", "grace_timeout",   "engine_dead"};
constexpr std::string_view kOutcomes[] = {"completed", "cancelled", "migrated",
                                          "error",     "rejected",  "lost"};
constexpr std::string_view kHealth[] = {"healthy", "busy", "dead"};
constexpr std::string_view kStates[] = {"waiting", "running", "exited"};
constexpr std::string_view kRefusals[] = {"draining", "overloaded", "queue_timeout"};
constexpr std::string_view kScopes[] = {"main", "all"};
constexpr std::string_view kCodes[] = {"bad_json",  "too_long",    "unknown_op", "bad_field",
                                       "not_yours", "not_allowed", "busy",       "conflict",
                                       "version",   "duplicate_id"};
constexpr std::string_view kShim[] = {"shim"};
constexpr std::string_view kPeers[] = {"engine", "operator"};

constexpr Key id(std::string_view name, bool required = true) {
  return {.name = name, .is = Is::id, .required = required, .most = kIdBytes};
}
constexpr Key text(std::string_view name, std::uint64_t most = kIdBytes) {
  return {.name = name, .is = Is::text, .most = most};
}
constexpr Key some(std::string_view name, std::uint64_t most = kIdBytes) {
  return {.name = name, .is = Is::id, .required = true, .most = most};
}
constexpr Key flag(std::string_view name) {
  return {.name = name, .is = Is::boolean};
}
constexpr Key number(std::string_view name, std::uint64_t most = kMostOf, std::uint64_t least = 0) {
  return {.name = name, .is = Is::number, .most = most, .least = least};
}
constexpr Key due(std::string_view name, std::uint64_t most = kMostOf, std::uint64_t least = 0) {
  return {.name = name, .is = Is::number, .required = true, .most = most, .least = least};
}
constexpr Key word(std::string_view name, Words words, bool required = true) {
  return {.name = name, .is = Is::word, .required = required, .words = words};
}
constexpr Key newer(std::string_view name, Words words) {
  return {.name = name, .is = Is::newer, .required = true, .words = words};
}
constexpr Key ids(std::string_view name, bool required = true) {
  return {.name = name, .is = Is::ids, .required = required, .most = kIdBytes};
}
constexpr Key change(std::string_view name, std::uint64_t most, std::uint64_t least) {
  return {.name = name, .is = Is::change, .most = most, .least = least};
}

constexpr Key kVersion = due("version", 1, 1);

constexpr Key kEngine[] = {word("state", kStates),
                           number("pid", kMostPid),
                           number("started_at_ms", kMostMs),
                           number("exited_at_ms", kMostMs),
                           number("code", 255),
                           number("signal", 64, 1),
                           flag("oom"),
                           flag("ordered"),
                           number("alive")};
constexpr Key kHelloShim[] = {kVersion,
                              {.name = "role", .is = Is::fixed, .required = true, .words = kShim},
                              text("name"),
                              text("sdk"),
                              id("boot"),
                              flag("run"),
                              {.name = "engine", .is = Is::object, .inner = kEngine},
                              number("stop_at_ms", kMostMs),
                              text("blob", 1024)};
constexpr Key kHello[] = {
    kVersion,         {.name = "role", .is = Is::fixed, .required = true, .words = kPeers},
    text("name"),     text("sdk"),
    flag("critical"), number("live")};
constexpr Key kEndpointRegister[] = {id("endpoint"), flag("graceful_shutdown"), text("model")};
constexpr Key kEndpointUnregister[] = {id("endpoint")};
constexpr Key kBegin[] = {id("id"),         id("root", false), id("parent", false),
                          text("endpoint"), text("model"),     flag("stream"),
                          flag("admit"),    flag("resumed"),   number("priority", 7)};
constexpr Key kEnd[] = {id("id"), word("outcome", kOutcomes)};
constexpr Key kIds[] = {ids("ids")};
constexpr Key kId[] = {id("id")};
constexpr Key kCancelIds[] = {ids("ids"), word("mode", kModes, false),
                              word("reason", kReasons, false)};
constexpr Key kCancelRoot[] = {id("root"), word("mode", kModes, false),
                               word("reason", kReasons, false)};
constexpr Key kHealthOf[] = {word("status", kHealth), text("detail", kAnyLength)};
constexpr Key kLoad[] = {number("dp_rank"), number("active_decode_blocks"),
                         number("kv_total_blocks"), number("active_prefill_tokens")};
constexpr Key kFatal[] = {some("reason", kAnyLength), text("detail", kAnyLength)};
constexpr Key kStarted[] = {number("pid", kMostPid), number("at_ms", kMostMs)};
constexpr Key kExited[] = {number("code", 255), number("signal", 64, 1),  flag("oom"),
                           flag("ordered"),     number("at_ms", kMostMs), number("alive")};
constexpr Key kTree[] = {due("alive"), ids("names", false)};
constexpr Key kDied[] = {number("pid", kMostPid), some("name"),    number("signal", 64, 1),
                         due("at_ms", kMostMs),   flag("ordered"), number("alive"),
                         ids("names", false)};
constexpr Key kStopped[] = {number("pid", kMostPid), some("name")};
constexpr Key kSignal[] = {{.name = "name", .is = Is::signal, .required = true},
                           due("at_ms", kMostMs)};
constexpr Key kRequests[] = {text("after", 513), number("limit", 1000, 1)};
constexpr Key kWatch[] = {number("interval_ms", kMostMs, 50)};
constexpr Key kDrain[] = {flag("exit"), number("timeout_ms", kMostMs)};
constexpr Key kAdmission[] = {
    change("engine_request_limit", 1'000'000, 1), change("queue_limit", 1'000'000, 0),
    change("queue_timeout_ms", kMostMs, 1), change("engine_wait_limit", 1'000'000, 1)};
constexpr Key kThresholds[] = {text("model"),
                               {.name = "active_decode_blocks_threshold", .is = Is::share},
                               change("active_prefill_tokens_threshold", kMostOf, 0)};

constexpr Row kToSupervisor[] = {
    {"hello", kHelloShim},
    {"hello", kHello},
    {"endpoint.register", kEndpointRegister},
    {"endpoint.unregister", kEndpointUnregister},
    {"request.begin", kBegin},
    {"request.end", kEnd},
    {"request.progress", kIds},
    {"cancel", kCancelIds},
    {"cancel", kCancelRoot},
    {"cancel.done", kId},
    {"health", kHealthOf},
    {"health.doubt", {}},
    {"load", kLoad},
    {"fatal", kFatal},
    {"registered", {}},
    {"deregistered", {}},
    {"cleanup.done", {}},
    {"engine.started", kStarted},
    {"engine.exited", kExited},
    {"engine.tree", kTree},
    {"engine.died", kDied},
    {"engine.stopped", kStopped},
    {"signal", kSignal},
    {"ping", {}},
    {"status", {}},
    {"requests", kRequests},
    {"watch", kWatch},
    {"drain", kDrain},
    {"resume", {}},
    {"reload", {}},
    {"admission.set", kAdmission},
    {"thresholds.set", kThresholds},
};

constexpr Key kBudgets[] = {due("deregister_ms", kMostMs), due("late_accept_ms", kMostMs),
                            due("cleanup_reserve_ms", kMostMs), due("cancel_settle_ms", kMostMs)};
constexpr Key kWelcome[] = {
    due("version"),  // another one is for the client to judge
    word("phase", kPhases),
    due("grace_ms", kMostMs),
    {.name = "budgets", .is = Is::object, .required = true, .inner = kBudgets},
    number("rest_grace_ms", kMostMs),
    text("probe")};
constexpr Key kPhase[] = {word("phase", kPhases), number("deadline_at_ms", kMostMs)};
constexpr Key kRejected[] = {
    id("id"),        newer("reason", kRefusals), number("retry_after_ms", kMostMs), number("limit"),
    number("count"), text("detail", kAnyLength)};
constexpr Key kCancels[] = {ids("ids"), newer("mode", kModes), newer("reason", kReasons)};
constexpr Key kCleanup[] = {due("deadline_at_ms", kMostMs)};
constexpr Key kCleared[] = {due("at_ms", kMostMs)};
constexpr Key kRemember[] = {some("blob", 1024)};
constexpr Key kWill[] = {word("mode", kStopModes),
                         due("deadline_at_ms", kMostMs),
                         number("code", 255),
                         {.name = "report", .is = Is::report, .most = 1536}};
constexpr Key kEngineSignal[] = {{.name = "name", .is = Is::signal, .required = true},
                                 word("scope", kScopes, false)};
constexpr Key kExit[] = {due("code", 255), {.name = "report", .is = Is::report, .most = 4000}};
constexpr Key kStatus[] = {{.name = "status", .is = Is::any, .required = true}};
constexpr Key kError[] = {newer("code", kCodes), text("message", kAnyLength)};

constexpr Row kFromSupervisor[] = {
    {"welcome", kWelcome, true},
    {"phase", kPhase, true},
    {"admitted", kId},
    {"rejected", kRejected},
    {"cancel", kCancels},
    {"health.check", {}},
    {"health.cleared", kCleared},
    {"deregister", {}},
    {"cleanup", kCleanup},
    {"remember", kRemember, true},
    {"will", kWill, true},
    {"engine.start", {}, true},
    {"engine.signal", kEngineSignal, true},
    {"exit", kExit, true},
    {"status", kStatus},
    {"error", kError, true},
};

}  // namespace

std::span<Row const> to_supervisor_rows() {
  return kToSupervisor;
}

std::span<Row const> from_supervisor_rows() {
  return kFromSupervisor;
}

}  // namespace lastcall::fuzz
