// Writes messages as lines; the counterpart of decode.cpp.
#include <span>
#include <type_traits>

#include "ipc/codec.hpp"
#include "ipc/message_fields.hpp"
#include "ipc/message_io.hpp"

namespace lastcall::ipc {
namespace {

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
        MessageWriter writer(out, op_of(message), seq_of(m, seq));
        if constexpr (!std::is_empty_v<std::decay_t<decltype(m)>>) {
          each_field(writer, m);
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
  MessageWriter writer(out, "cancel", std::nullopt);
  writer.ids("ids", std::span(batch.ids).subspan(first, last - first));
  writer.word("mode", batch.mode);
  writer.word("reason", batch.reason);
  (void)writer.finish();
  return last;
}

}  // namespace lastcall::ipc
