// The codec on any bytes. Checked for each line:
//  1. what it takes for JSON is what a general parser takes for JSON;
//  2. what decodes can be encoded again, in one line within the limit, and means the same then;
//  3. an error has a text, and closes exactly when it must.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"
#include "ipc/codec.hpp"
#include "ipc/line_buffer.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::ipc;
using lastcall::fuzz::require;

/// The general parser skips a byte order mark, ends at a NUL, and knows no limit of depth.
bool is_comparable(std::string_view text) {
  int depth = 0;
  for (char const c : text) {
    depth += c == '[' || c == '{' ? 1 : 0;
  }
  return depth < lastcall::json::kMaxDepth && !text.starts_with("\xEF\xBB\xBF") &&
         text.find('\0') == std::string_view::npos;
}

template <typename Decode>
void check(std::string_view line, Decode decode) {
  auto const decoded = decode(line);
  if (auto const* const problem = std::get_if<DecodeError>(&decoded)) {
    require(!problem->message.empty());
    bool const must_close = problem->code == ErrorCode::bad_json ||
                            problem->code == ErrorCode::too_long ||
                            problem->code == ErrorCode::version;
    require(problem->close == must_close);
    return;
  }
  auto const& incoming = std::get<0>(decoded);
  std::string again;
  if (!encode(incoming.message, incoming.seq, again)) {
    // A line can only become too long if its sender left something out, or wrote it shorter.
    require(line.size() > kMaxLine / 8);
    return;
  }
  require(again.size() <= kMaxLine + 1 && again.find('\n') == again.size() - 1);
  again.pop_back();
  auto const second = decode(again);
  require(second.index() == 0);
  require(std::get<0>(second).message == incoming.message);
  require(std::get<0>(second).seq == incoming.seq);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 500, .besides = 20'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  if (is_comparable(bytes)) {
    bool const is_value = lastcall::json::is_value(bytes);
    bool const expected = nlohmann::json::accept(bytes);
    // It also refuses numbers that no double holds, which the grammar allows.
    bool const may_overflow = size > 300 || bytes.find_first_of("eE") != std::string_view::npos;
    require(is_value == expected || (is_value && may_overflow));
  }
  LineBuffer buffer;
  std::string_view rest = bytes;
  while (!rest.empty() && !buffer.is_overflowing()) {
    auto const room = buffer.prepare();
    std::size_t const step = std::min({rest.size(), room.size(), std::size_t{997}});
    std::copy_n(rest.begin(), step, room.begin());
    buffer.commit(step);
    rest.remove_prefix(step);
    while (auto const line = buffer.next_line()) {
      check(*line, decode_to_supervisor);
      check(*line, decode_from_supervisor);
    }
  }
  check(bytes, decode_to_supervisor);
  check(bytes, decode_from_supervisor);
  return 0;
}
