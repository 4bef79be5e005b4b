// The fields of each message in the order of the line, once for both directions: a MessageWriter
// writes them, and a MessageReader sets them to what it finds in a line.
//
// Rules:
//  1. A field that is absent keeps the value that it has in a new message.
//  2. Where reading and writing differ, `Io::kReads` says which of them it is.
//
// Internal to the codec. Pure, no thread rule. Source: docs/ipc.md.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "ipc/limits.hpp"
#include "ipc/message.hpp"
#include "ipc/message_io.hpp"

namespace lastcall::ipc {

/// A message as `Io` gets it: a writer does not change it.
template <class Io, class Message>
using For = std::conditional_t<Io::kReads, Message, Message const>;

inline constexpr Bounds kPid{0, std::numeric_limits<std::int32_t>::max()};
inline constexpr Bounds kExitCode{0, 255};
inline constexpr Bounds kSignalNumber{1, 64};
inline constexpr Bounds kAdmissionLimit{1, 1'000'000};  // as in the configuration
inline constexpr Bounds kAnySeq{0, ~std::uint64_t{0}};

// --- to the supervisor ---------------------------------------------------------------------------

template <class Io>
void each_field(Io& io, For<Io, EngineFacts>& m) {
  io.nonzero("pid", m.pid, kPid);
  io.word("state", m.state);
  io.instant("started_at_ms", m.started_at);
  io.instant("exited_at_ms", m.exited_at);
  io.number("code", m.code, kExitCode);
  io.number("signal", m.signal, kSignalNumber);
  io.flag("oom", m.oom);
  io.flag("ordered", m.ordered);
  io.number("alive", m.alive);
}

template <class Io>
void each_field(Io& io, For<Io, ShimFacts>& m) {
  io.id("boot", m.boot);
  io.flag("run", m.run);
  io.object("engine", [&m](Io& inner) { each_field(inner, m.engine); });
  io.instant("stop_at_ms", m.stop_at);
  io.text("blob", m.blob, kMaxBlob);
}

template <class Io>
void each_field(Io& io, For<Io, Hello>& m) {
  io.required_number("version", m.version);
  if constexpr (Io::kReads) {
    if (m.version != kProtocolVersion) {
      return io.error().refuse_version(m.version);
    }
  }
  io.word("role", m.role);
  io.text("name", m.name, kMaxId);
  io.text("sdk", m.sdk, kMaxId);
  io.flag("critical", m.critical);
  io.nonzero("live", m.live);
  if constexpr (Io::kReads) {
    if (m.role == Role::shim && !io.error().is_set()) {
      m.shim.emplace();
    }
  }
  if (m.shim) {
    each_field(io, *m.shim);
  }
}

template <class Io>
void each_field(Io& io, For<Io, EndpointRegister>& m) {
  io.id("endpoint", m.endpoint);
  io.boolean("graceful_shutdown", m.graceful_shutdown);
  io.text("model", m.model, kMaxId);
}

template <class Io>
void each_field(Io& io, For<Io, EndpointUnregister>& m) {
  io.id("endpoint", m.endpoint);
}

/// 1 to 16 hexadecimal digits. Any other text, however long, is not from an ingress but from a
/// client that has called the engine itself, and must not keep its request from being counted.
inline std::uint64_t way_of(std::string_view text) {
  constexpr int kHexadecimal = 16;
  constexpr std::size_t kMostDigits = 16;
  std::uint64_t way = 0;
  char const* const end = text.data() + text.size();
  bool const is_way =
      text.size() <= kMostDigits && std::from_chars(text.data(), end, way, kHexadecimal).ptr == end;
  return is_way ? way : 0;
}

inline std::string text_of_way(std::uint64_t way) {
  std::array<char, 16> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), way, 16).ptr};
}

template <class Io>
void each_field(Io& io, For<Io, RequestBegin>& m) {
  io.id("id", m.id);
  io.optional_id("root", m.root);
  io.optional_id("parent", m.parent);
  io.text("endpoint", m.endpoint, kMaxId);
  io.text("model", m.model, kMaxId);
  io.boolean("stream", m.stream);
  io.flag("admit", m.admit);
  io.flag("resumed", m.resumed);
  if (Io::kReads || m.priority != lifecycle::kUsualPriority) {
    io.number("priority", m.priority, {0, lifecycle::kPriorities - 1});
  }
  if constexpr (Io::kReads) {
    if (std::string way; io.has("way")) {
      io.text("way", way);
      m.way = way_of(way);
    }
  } else if (m.way) {
    io.required_text("way", text_of_way(*m.way));
  }
  io.instant("began_at_ms", m.began_at);
}

template <class Io>
void each_field(Io& io, For<Io, RequestEnd>& m) {
  io.id("id", m.id);
  io.word("outcome", m.outcome);
}

template <class Io>
void each_field(Io& io, For<Io, RequestProgress>& m) {
  io.ids("ids", m.ids);
}

template <class Io>
void each_field(Io& io, For<Io, Cancel>& m) {
  bool is_by_root = !m.root.empty();
  if constexpr (Io::kReads) {
    is_by_root = io.has("root");
    if (io.has("ids") == is_by_root) {
      return io.error().fail("ids", "expected either 'ids' or 'root'");
    }
  }
  if (is_by_root) {
    io.id("root", m.root);
  } else {
    io.ids("ids", m.ids);
  }
  io.optional_word("mode", m.mode);
  io.optional_word("reason", m.reason);
}

template <class Io>
void each_field(Io& io, For<Io, CancelDone>& m) {
  io.id("id", m.id);
}

template <class Io>
void each_field(Io& io, For<Io, Health>& m) {
  io.word("status", m.status);
  io.text("detail", m.detail);
}

template <class Io>
void each_field(Io& io, For<Io, Load>& m) {
  io.number("dp_rank", m.dp_rank);
  io.number("active_decode_blocks", m.active_decode_blocks);
  io.number("kv_total_blocks", m.kv_total_blocks);
  io.number("active_prefill_tokens", m.active_prefill_tokens);
}

template <class Io>
void each_field(Io& io, For<Io, Fatal>& m) {
  io.required_text("reason", m.reason);
  io.text("detail", m.detail);
}

template <class Io>
void each_field(Io& io, For<Io, EngineStarted>& m) {
  io.nonzero("pid", m.pid, kPid);
  io.instant("at_ms", m.at);
}

template <class Io>
void each_field(Io& io, For<Io, EngineExited>& m) {
  io.number("code", m.code, kExitCode);
  io.number("signal", m.signal, kSignalNumber);
  io.boolean("oom", m.oom);
  io.flag("ordered", m.ordered);
  io.instant("at_ms", m.at);
  io.number("alive", m.alive);
}

template <class Io>
void each_field(Io& io, For<Io, EngineTree>& m) {
  io.required_number("alive", m.alive);
  io.optional_ids("names", m.names);
}

template <class Io>
void each_field(Io& io, For<Io, EngineDied>& m) {
  io.number("pid", m.pid, kPid);
  io.required_text("name", m.name, kMaxId);
  io.number("signal", m.signal, kSignalNumber);
  io.instant("at_ms", m.at);
  io.flag("ordered", m.ordered);
  io.number("alive", m.alive);
  io.optional_ids("names", m.names);
}

template <class Io>
void each_field(Io& io, For<Io, EngineStopped>& m) {
  io.number("pid", m.pid, kPid);
  io.required_text("name", m.name, kMaxId);
}

template <class Io>
void each_field(Io& io, For<Io, Signal>& m) {
  io.signal_name("name", m.name);
  io.instant("at_ms", m.at);
}

template <class Io>
void each_field(Io& io, For<Io, RequestsQuery>& m) {
  io.text("after", m.after, kMaxCursor);
  io.number("limit", m.limit, {1, kMaxPage});
}

template <class Io>
void each_field(Io& io, For<Io, Watch>& m) {
  io.duration("interval_ms", m.interval, {kLeastWatchMs});
}

template <class Io>
void each_field(Io& io, For<Io, Drain>& m) {
  io.flag("exit", m.exit);
  io.duration("timeout_ms", m.timeout);
}

template <class Io>
void each_field(Io& io, For<Io, AdmissionSet>& m) {
  io.change("engine_request_limit", m.engine_request_limit, kAdmissionLimit);
  io.change("queue_limit", m.queue_limit, {0, kAdmissionLimit.max});
  io.change("queue_timeout_ms", m.queue_timeout_ms, {1});
  io.change("engine_wait_limit", m.engine_wait_limit, kAdmissionLimit);
}

template <class Io>
void each_field(Io& io, For<Io, ThresholdsSet>& m) {
  io.text("model", m.model, kMaxId);
  io.share("active_decode_blocks_threshold", m.active_decode_blocks_threshold);
  io.change("active_prefill_tokens_threshold", m.active_prefill_tokens_threshold);
}

template <class Io>
void each_field(Io& io, For<Io, Prestop>& m) {
  io.word("container", m.container);
}

// --- from the supervisor -------------------------------------------------------------------------

template <class Io>
void each_field(Io& io, For<Io, WelcomeBudgets>& m) {
  io.duration("deregister_ms", m.deregister);
  io.duration("late_accept_ms", m.late_accept);
  io.duration("cleanup_reserve_ms", m.cleanup_reserve);
  io.duration("cancel_settle_ms", m.cancel_settle);
}

template <class Io>
void each_field(Io& io, For<Io, Welcome>& m) {
  io.required_number("version", m.version);
  io.word("phase", m.phase);
  io.duration("grace_ms", m.grace);
  io.required_object("budgets", [&m](Io& inner) { each_field(inner, m.budgets); });
  io.duration("rest_grace_ms", m.rest_grace);
  io.text("probe", m.probe, kMaxId);
}

template <class Io>
void each_field(Io& io, For<Io, PhaseChange>& m) {
  io.word("phase", m.phase);
  io.instant("deadline_at_ms", m.deadline_at);
}

template <class Io>
void each_field(Io& io, For<Io, Admitted>& m) {
  io.id("id", m.id);
}

template <class Io>
void each_field(Io& io, For<Io, Rejected>& m) {
  io.id("id", m.id);
  io.growing_word("reason", m.reason, RejectedReason::overloaded);
  io.duration("retry_after_ms", m.retry_after);
  io.number("limit", m.limit);
  io.number("count", m.count);
  io.text("detail", m.detail);
}

template <class Io>
void each_field(Io& io, For<Io, CancelBatch>& m) {
  io.ids("ids", m.ids);
  io.growing_word("mode", m.mode, CancelMode::stop);
  io.growing_word("reason", m.reason, CancelReason::control);
}

template <class Io>
void each_field(Io& io, For<Io, HealthCleared>& m) {
  io.instant("at_ms", m.at);
}

template <class Io>
void each_field(Io& io, For<Io, Cleanup>& m) {
  io.instant("deadline_at_ms", m.deadline_at);
}

template <class Io>
void each_field(Io& io, For<Io, Remember>& m) {
  io.required_text("blob", m.blob, kMaxBlob);
}

template <class Io>
void each_field(Io& io, For<Io, Will>& m) {
  io.word("mode", m.mode);
  io.instant("deadline_at_ms", m.deadline_at);
  io.number("code", m.code, kExitCode);
  io.text("report", m.report, kMaxWillReport);
}

template <class Io>
void each_field(Io& io, For<Io, EngineSignal>& m) {
  io.signal_name("name", m.name);
  io.optional_word("scope", m.scope);
}

template <class Io>
void each_field(Io& io, For<Io, Exit>& m) {
  io.required_number("code", m.code, kExitCode);
  io.text("report", m.report, kMaxReport);
}

template <class Io>
void each_field(Io& io, For<Io, StatusUpdate>& m) {
  io.raw_object("status", m.status);
}

// --- the answers, which both sides send; a writer has their seq in the head of its line ----------

template <class Io>
void each_field(Io& io, For<Io, Ack>& m) {
  if constexpr (Io::kReads) {
    io.required_number("seq", m.seq, kAnySeq);
  }
  io.raw("result", m.result);
}

template <class Io>
void each_field(Io& io, For<Io, Error>& m) {
  if constexpr (Io::kReads) {
    io.number("seq", m.seq, kAnySeq);
  }
  io.growing_word("code", m.code, ErrorCode::conflict);
  io.text("message", m.message);
}

}  // namespace lastcall::ipc
