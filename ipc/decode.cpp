// Rule: the checks come in this order, and the first that fails gives the error: length, JSON, seq,
// op, fields. So an error contains the line's seq whenever that could be read.
// Source: docs/ipc.md, 'Answers and errors'.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_reader.hpp"
#include "ipc/codec.hpp"
#include "ipc/limits.hpp"
#include "ipc/message_fields.hpp"
#include "ipc/message_io.hpp"
#include "ipc/ops.hpp"
#include "ipc/words.hpp"

namespace lastcall::ipc {
namespace {

/// The error of a line that cannot be read at all; such a line has no seq.
DecodeError unreadable(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .close = true, .seq = std::nullopt};
}

std::optional<DecodeError> read_members(std::string_view line, std::vector<json::Member>& members) {
  if (line.size() > kMaxLine) {
    return unreadable(ErrorCode::too_long,
                      "a line holds at most " + std::to_string(kMaxLine) + " bytes");
  }
  if (line.find('\n') != std::string_view::npos) {
    return unreadable(ErrorCode::bad_json, "a message is one line");
  }
  constexpr std::size_t kUsualMembers = 12;
  members.reserve(kUsualMembers);
  if (auto const problem = json::read_object(line, members)) {
    return unreadable(ErrorCode::bad_json,
                      "byte " + std::to_string(problem->at) + ": expected " + problem->expected);
  }
  return std::nullopt;
}

/// One function for each alternative: it makes the message and sets its fields, if it has any.
template <typename Message, std::size_t... I>
constexpr auto make_readers(std::index_sequence<I...>) {
  return std::array<Message (*)(MessageReader&), sizeof...(I)>{+[](MessageReader& f) {
    std::variant_alternative_t<I, Message> m;
    if constexpr (!std::is_empty_v<decltype(m)>) {
      each_field(f, m);
    }
    return Message(std::in_place_index<I>, std::move(m));
  }...};
}

/// `ops` are in the order of the alternatives.
template <typename Message, std::size_t N>
std::variant<Incoming<Message>, DecodeError> decode_line(
    std::string_view line, std::array<std::string_view, N> const& ops) {
  static constexpr auto kReaders = make_readers<Message>(std::make_index_sequence<N>{});
  std::vector<json::Member> members;
  if (auto problem = read_members(line, members)) {
    return *std::move(problem);
  }
  MessageReader head(members);
  std::string op;
  head.required_text("op", op);
  bool const is_answer = op == "ack" || op == "error";  // even one whose seq cannot be used
  MessageReader fields(members);
  std::optional<std::uint64_t> seq;
  fields.number("seq", seq, kAnySeq);
  if (auto const& problem = (fields.error().is_set() ? fields : head).error().text()) {
    return DecodeError{.code = ErrorCode::bad_field,
                       .message = *problem,
                       .close = false,
                       .seq = seq,
                       .of_answer = is_answer};
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (ops[i] != op) {
      continue;
    }
    if (is_answer) {
      seq.reset();  // in an answer it is a field that names one of our lines
    }
    Incoming<Message> incoming{kReaders[i](fields), seq};
    if (FieldError const& error = fields.error(); error.is_set()) {
      return DecodeError{.code = error.code(),
                         .message = op + ": " + *error.text(),
                         .close = error.code() == ErrorCode::version,
                         .seq = seq,
                         .of_answer = is_answer};
    }
    return incoming;
  }
  constexpr std::size_t kShown = 40;
  return DecodeError{.code = ErrorCode::unknown_op,
                     .message = "there is no op '" + op.substr(0, kShown) + "'",
                     .close = false,
                     .seq = seq};
}

}  // namespace

ToSupervisorLine decode_to_supervisor(std::string_view line) {
  return decode_line<ToSupervisor>(line, kToSupervisorOps);
}

FromSupervisorLine decode_from_supervisor(std::string_view line) {
  return decode_line<FromSupervisor>(line, kFromSupervisorOps);
}

}  // namespace lastcall::ipc
