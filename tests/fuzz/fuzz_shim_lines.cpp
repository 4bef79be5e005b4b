// What the supervisor, or another process on its socket, can send to the shim. Checked:
//  1. lines are the same however the bytes arrive, and none is longer than the limit;
//  2. the shim's own JSON takes exactly what the supervisor's reader takes for an object;
//  3. a problem has words, and what is answered to it is one valid line.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "shim/json.hpp"
#include "shim/line_buffer.hpp"
#include "shim/messages.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using fuzz::require;

// The shim treats an error without a code as this one.
constexpr std::string_view kNoErrorCode = "\"unknown\"";

bool is_object_for_the_supervisor(std::string_view line) {
  std::size_t const first = line.find_first_not_of(" \t\r\n");
  return first != line.npos && line[first] == '{' && json::is_value(line);
}

void check_answer(shim::Decoded const& decoded) {
  std::array<char, 4096> buffer{};
  shim::Text out(buffer.data(), buffer.size());
  shim::write_error(out, decoded.order.seq, decoded.problem, decoded.detail);
  require(!out.overflowed());
  std::string_view answer = out.view();
  require(answer.ends_with('\n'));
  answer.remove_suffix(1);
  require(answer.find('\n') == answer.npos && json::is_value(answer));
}

void check_line(std::string_view line) {
  require(line.size() <= shim::kLongestLine && line.find('\n') == line.npos);
  bool const is_object = shim::json::is_object(line);
  require(is_object == is_object_for_the_supervisor(line));
  shim::Decoded const decoded = shim::decode(line);
  require((decoded.problem == shim::ErrorCode::bad_json) == !is_object);
  if (decoded.problem != shim::ErrorCode::none) {
    require(!decoded.detail.empty());
    check_answer(decoded);
    return;
  }
  shim::Order const& order = decoded.order;
  for (std::string_view const view : {order.raw_blob, order.raw_report, order.raw_error_code}) {
    bool const is_inside =
        view.data() >= line.data() && view.data() + view.size() <= line.data() + line.size();
    require(view.empty() || is_inside || view == kNoErrorCode);
  }
  require(order.raw_blob.size() <= shim::kLargestRawBlob);
  require(order.signal >= 0 && order.signal <= 64 && order.exit_code.value_or(0) >= 0 &&
          order.exit_code.value_or(0) <= 255);
}

/// Reads as the shim's link does: first the bytes that are there, then the lines, then there is
/// room again.
std::vector<std::string> lines_of(std::string_view bytes, std::size_t step) {
  auto const buffer = std::make_unique<shim::LineBuffer>();
  std::vector<std::string> lines;
  while (!bytes.empty() && !buffer->is_full()) {
    std::size_t const count = std::min({step, bytes.size(), buffer->space_size()});
    std::memcpy(buffer->space(), bytes.data(), count);
    buffer->added(count);
    bytes.remove_prefix(count);
    while (auto const line = buffer->next_line()) {
      lines.emplace_back(*line);
    }
    buffer->compact();
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 500, .besides = 20'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  std::vector<std::string> const lines = lines_of(bytes, 4096);
  require(lines == lines_of(bytes, 7));
  for (std::string const& line : lines) {
    check_line(line);
  }
  if (bytes.find('\n') == bytes.npos && bytes.size() <= shim::kLongestLine) {
    check_line(bytes);
  }
  return 0;
}
