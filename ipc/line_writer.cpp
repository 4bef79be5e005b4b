#include "ipc/line_writer.hpp"

#include <array>
#include <charconv>

#include "base/json_reader.hpp"
#include "base/json_writer.hpp"

namespace lastcall::ipc {

LineWriter::LineWriter(std::string& out, std::string_view op, std::optional<std::uint64_t> seq)
    : out_(out), start_(out.size()) {
  out_ += R"({"op":")";
  out_ += op;
  out_ += '"';
  number("seq", seq);
}

void LineWriter::key(std::string_view name) {
  out_ += out_.back() == '{' ? "\"" : ",\"";
  out_ += name;
  out_ += "\":";
}

void LineWriter::digits(std::string_view name, std::uint64_t value) {
  std::array<char, 24> buffer{};
  auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  key(name);
  out_.append(buffer.data(), end);
}

void LineWriter::text(std::string_view name, std::string_view value, std::size_t max) {
  if (!value.empty()) {
    required_text(name, value, max);
  }
}

void LineWriter::required_text(std::string_view name, std::string_view value, std::size_t max) {
  require(value.size() <= max);
  key(name);
  json::append_string(out_, value);
}

void LineWriter::id(std::string_view name, std::string_view value) {
  require(!value.empty());
  required_text(name, value, kMaxId);
}

void LineWriter::ids(std::string_view name, std::span<std::string const> values) {
  require(!values.empty());
  key(name);
  char before = '[';
  for (std::string const& value : values) {
    require(!value.empty() && value.size() <= kMaxId);
    out_ += before;
    json::append_string(out_, value);
    before = ',';
  }
  out_ += ']';
}

void LineWriter::boolean(std::string_view name, bool value) {
  key(name);
  out_ += value ? "true" : "false";
}

void LineWriter::flag(std::string_view name, bool value) {
  if (value) {
    boolean(name, true);
  }
}

void LineWriter::number(std::string_view name, double value) {
  std::array<char, 32> buffer{};
  auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  key(name);
  out_.append(buffer.data(), end);
}

void LineWriter::null(std::string_view name) {
  key(name);
  out_ += "null";
}

void LineWriter::raw(std::string_view name, std::string_view json) {
  if (json.empty()) {
    return;
  }
  require(json.find('\n') == std::string_view::npos && json::is_value(json));
  key(name);
  out_ += json;
}

void LineWriter::begin_object(std::string_view name) {
  key(name);
  out_ += '{';
}

void LineWriter::end_object() {
  out_ += '}';
}

bool LineWriter::finish() {
  out_ += '}';
  if (!ok_ || out_.size() - start_ > kMaxLine) {
    out_.resize(start_);
    return false;
  }
  out_ += '\n';
  return true;
}

}  // namespace lastcall::ipc
