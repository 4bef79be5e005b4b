// The shim's side of the wire: converts a line to a struct, and back.
//
// Rules: 1. unknown keys are ignored; 2. an unknown op or a bad field is answered with `error`, and
// the connection stays; a line that is not a JSON object ends it; 3. keys are written in the order
// of the protocol's reference, `op` and `seq` first; 4. the blob and the report are never
// interpreted. No thread rule. Source: docs/ipc.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.hpp"
#include "shim/exit_code.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

inline constexpr std::int64_t kProtocolVersion = 1;
/// 1 KiB of text, each byte of it escaped as \u00xx, and two quotes.
inline constexpr std::size_t kLargestRawBlob = 6 * 1024 + 2;
/// The longest report of a will, decoded.
inline constexpr std::size_t kLongestWillReport = 1536;

enum class Op : unsigned char {
  welcome,
  phase,
  remember,
  will,
  engine_start,
  engine_signal,
  exit,
  ack,
  error,
};

enum class ErrorCode : unsigned char { none, bad_json, too_long, unknown_op, bad_field };

/// The content of a line; only the fields of its op are set. Views point into the line.
struct Order {
  Op op = Op::ack;
  std::optional<std::int64_t> seq;     // to answer; in ack and error, the seq that they answer
  bool supported_version = true;       // welcome
  std::optional<bool> phase_is_up;     // welcome, phase: starting or serving
  std::optional<Duration> grace;       // welcome
  std::optional<Duration> reserve;     // welcome
  std::optional<Duration> rest_grace;  // welcome
  std::optional<Instant> deadline;     // phase, will
  std::string_view raw_blob;           // remember
  int signal = 0;                      // engine.signal
  bool whole_tree = false;             // engine.signal
  bool fatal = false;                  // will
  std::optional<int> exit_code;        // exit (always), will
  std::string_view raw_report;         // exit, will; empty: none
  bool busy = false;                   // error
  std::string_view raw_error_code;     // error
};

struct Decoded {
  ErrorCode problem = ErrorCode::none;
  std::string_view detail;  // the field and what was expected
  Order order;              // after a problem only `seq` is meaningful
};

Decoded decode(std::string_view line);

/// Everything that is reported to the supervisor about the engine.
struct EngineFacts {
  enum class State : unsigned char { waiting, running, exited };

  State state = State::waiting;
  std::int64_t pid = 0;
  Instant started_at{};
  Instant exited_at{};
  Ending ending;
  bool oom = false;
  bool ordered = false;
  std::optional<int> alive;  // once it has exited: number of processes left in its tree
};

struct Hello {
  std::string_view name;
  std::string_view boot;
  bool run = false;
  EngineFacts engine;
  std::optional<Instant> stop_at;
  std::string_view raw_blob;  // empty: none
};

/// Each function appends one line with its newline.
void write_hello(Text& out, Hello const& hello);
void write_engine_started(Text& out, EngineFacts const& engine);
void write_engine_exited(Text& out, EngineFacts const& engine);
/// `raw_names`: a JSON array, or empty if there are too many.
void write_engine_tree(Text& out, int alive, std::string_view raw_names);
/// A process of the engine that ended before its main one.
struct Death {
  std::int64_t pid = 0;
  std::string_view name;
  int signal = 0;  // 0 if it could not be read
  Instant at{};
  bool ordered = false;        // the main process had its stop signal by then
  std::optional<int> alive;    // number of processes that live on besides the main one
  std::string_view raw_names;  // their names: a JSON array, or empty if they are too many
};
void write_engine_died(Text& out, Death const& death);
void write_engine_stopped(Text& out, std::int64_t pid, std::string_view name);
void write_signal(Text& out, std::int64_t seq, int signal, Instant at);
void write_ping(Text& out, std::int64_t seq);
void write_ack(Text& out, std::int64_t seq);
void write_error(Text& out, std::optional<std::int64_t> seq, ErrorCode code,
                 std::string_view message);

}  // namespace lastcall::shim
