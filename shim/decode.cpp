#include "shim/json.hpp"
#include "shim/messages.hpp"
#include "shim/parse.hpp"
#include "shim/signal_names.hpp"

namespace lastcall::shim {
namespace {

constexpr std::size_t kLongestBlob = 1024;
constexpr std::int64_t kLargestExitCode = 255;

struct OpName {
  std::string_view name;
  Op op;
};
constexpr OpName kOps[] = {
    {"welcome", Op::welcome},
    {"phase", Op::phase},
    {"remember", Op::remember},
    {"will", Op::will},
    {"engine.start", Op::engine_start},
    {"engine.signal", Op::engine_signal},
    {"exit", Op::exit},
    {"ack", Op::ack},
    {"error", Op::error},
};

struct PhaseName {
  std::string_view name;
  bool is_up;
};
constexpr PhaseName kPhases[] = {
    {"starting", true}, {"serving", true},      {"deregistering", false}, {"draining", false},
    {"drained", false}, {"cleaning_up", false}, {"exited", false},
};

/// Reads the fields of one line, and remembers the first bad one.
class Reader {
 public:
  Reader(std::string_view object, Decoded& result) : object_(object), result_(result) {}

  std::optional<std::int64_t> integer(std::string_view object, std::string_view key,
                                      std::string_view complaint) {
    std::optional<std::string_view> const raw = json::member(object, key);
    if (!raw || *raw == "null") {
      return std::nullopt;
    }
    std::optional<std::int64_t> const value = parse_unsigned(*raw);
    if (!value) {
      bad(complaint);
    }
    return value;
  }

  std::optional<std::int64_t> integer(std::string_view key, std::string_view complaint) {
    return integer(object_, key, complaint);
  }

  /// Returns false if the member is absent, is not a string, or does not fit.
  bool word(std::string_view key, Text& out) {
    std::optional<std::string_view> const raw = json::member(object_, key);
    return raw && json::decode_string(*raw, out);
  }

  std::optional<std::string_view> raw(std::string_view key) const {
    return json::member(object_, key);
  }

  void bad(std::string_view complaint) {
    if (result_.problem == ErrorCode::none) {
      result_.problem = ErrorCode::bad_field;
      result_.detail = complaint;
    }
  }

 private:
  std::string_view object_;
  Decoded& result_;
};

std::optional<Duration> as_duration(std::optional<std::int64_t> ms) {
  return ms ? std::optional(Duration{*ms}) : std::nullopt;
}

void read_phase(Reader& in, Order& order) {
  TextOf<16> word;
  in.word("phase", word);
  for (PhaseName const& phase : kPhases) {
    if (word.view() == phase.name) {
      order.phase_is_up = phase.is_up;
      return;
    }
  }
  in.bad("phase: expected a phase of the protocol");
}

void read_welcome(Reader& in, Order& order) {
  std::optional<std::int64_t> const version = in.integer("version", "version: expected 1");
  order.supported_version = !version || *version == kProtocolVersion;
  order.grace = as_duration(in.integer("grace_ms", "grace_ms: expected milliseconds"));
  order.rest_grace =
      as_duration(in.integer("rest_grace_ms", "rest_grace_ms: expected milliseconds"));
  if (std::optional<std::string_view> const budgets = in.raw("budgets");
      budgets && budgets->starts_with('{')) {
    order.reserve = as_duration(in.integer(*budgets, "cleanup_reserve_ms",
                                           "budgets.cleanup_reserve_ms: expected milliseconds"));
  }
}

void read_phase_change(Reader& in, Order& order) {
  read_phase(in, order);
  if (std::optional<std::int64_t> const at =
          in.integer("deadline_at_ms", "deadline_at_ms: expected monotonic milliseconds")) {
    order.deadline = instant_from_ms(*at);
  }
}

void read_blob(Reader& in, Order& order) {
  std::optional<std::string_view> const raw = in.raw("blob");
  TextOf<kLongestBlob> decoded;
  if (!raw || !json::decode_string(*raw, decoded)) {
    return in.bad("blob: expected a string of at most 1024 bytes");
  }
  order.raw_blob = decoded.view().empty() ? std::string_view{} : *raw;
}

void read_engine_signal(Reader& in, Order& order) {
  TextOf<16> name;
  std::optional<int> signal;
  if (in.word("name", name)) {
    signal = signal_from_text(name.view());
  }
  if (!signal) {
    return in.bad("name: expected a signal's name");
  }
  order.signal = *signal;
  if (std::optional<std::string_view> const raw = in.raw("scope"); raw && *raw != "null") {
    TextOf<8> scope;
    in.word("scope", scope);
    if (scope.view() != "main" && scope.view() != "all") {
      return in.bad("scope: expected main or all");
    }
    order.whole_tree = scope.view() == "all";
  }
}

void read_code(Reader& in, Order& order, bool is_required) {
  std::optional<std::int64_t> const code = in.integer("code", "code: expected 0..255");
  if (code ? *code > kLargestExitCode : is_required) {
    return in.bad("code: expected 0..255");
  }
  if (code) {
    order.exit_code = static_cast<int>(*code);
  }
}

void read_will(Reader& in, Order& order) {
  TextOf<16> mode;
  in.word("mode", mode);
  order.fatal = mode.view() == "fatal";
  if (!order.fatal && mode.view() != "graceful") {
    return in.bad("mode: expected graceful or fatal");
  }
  std::optional<std::int64_t> const at =
      in.integer("deadline_at_ms", "deadline_at_ms: expected monotonic milliseconds");
  if (!at) {
    return in.bad("deadline_at_ms: expected monotonic milliseconds");
  }
  order.deadline = instant_from_ms(*at);
  read_code(in, order, false);
  TextOf<kLongestWillReport> report;
  if (std::optional<std::string_view> const raw = in.raw("report"); raw && *raw != "null") {
    if (!json::decode_string(*raw, report) || !json::is_object(report.view())) {
      return in.bad("report: expected an object as a string of at most 1536 bytes");
    }
    order.raw_report = *raw;
  }
}

void read_exit(Reader& in, Order& order) {
  read_code(in, order, true);
  if (std::optional<std::string_view> const report = in.raw("report");
      report && *report != "null") {
    order.raw_report = *report;
  }
}

void read_error(Reader& in, Order& order) {
  order.raw_error_code = in.raw("code").value_or("\"unknown\"");
  order.busy = order.raw_error_code == "\"busy\"";
}

void read_fields(Reader& in, Order& order) {
  switch (order.op) {
    case Op::welcome:
      return read_welcome(in, order);
    case Op::phase:
      return read_phase_change(in, order);
    case Op::remember:
      return read_blob(in, order);
    case Op::will:
      return read_will(in, order);
    case Op::engine_signal:
      return read_engine_signal(in, order);
    case Op::exit:
      return read_exit(in, order);
    case Op::error:
      return read_error(in, order);
    case Op::engine_start:
    case Op::ack:
      return;
  }
}

std::optional<Op> find_op(std::string_view name) {
  for (OpName const& candidate : kOps) {
    if (name == candidate.name) {
      return candidate.op;
    }
  }
  return std::nullopt;
}

}  // namespace

Decoded decode(std::string_view line) {
  Decoded result;
  if (!json::is_object(line)) {
    result.problem = ErrorCode::bad_json;
    result.detail = "expected one JSON object";
    return result;
  }
  Reader in(line, result);
  result.order.seq = in.integer("seq", "seq: expected a whole number");
  TextOf<64> name;
  bool const has_name = in.word("op", name);
  std::optional<Op> const op = find_op(name.view());
  if (!op) {
    bool const absent = !has_name && name.view().empty();
    result.problem = absent ? ErrorCode::bad_field : ErrorCode::unknown_op;
    result.detail = absent ? "op: expected a string" : "not an op that a shim accepts";
    return result;
  }
  result.order.op = *op;
  read_fields(in, result.order);
  if (*op == Op::ack || *op == Op::error) {
    result.problem = ErrorCode::none;  // an answer is never answered, whatever is wrong with it
  }
  return result;
}

}  // namespace lastcall::shim
