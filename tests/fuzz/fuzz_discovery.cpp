// What registries answer, and what templates contain, as any bytes. Checked:
//  1. nothing that was read crashes what reads it, and a key that does not exist has no content;
//  2. base64 that is taken is what its bytes encode to;
//  3. a message never fails, and without a name in it a template stays as it is;
//  4. the library gets the same of an answer however its bytes arrive: a head of one short line,
//     then the body, and never an end that was not there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "base/base64.hpp"
#include "discovery/answer_filter.hpp"
#include "discovery/etcd_wire.hpp"
#include "discovery/http_message.hpp"
#include "discovery/kubernetes_wire.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::discovery;
using lastcall::fuzz::require;

constexpr std::size_t kShortHead = sizeof "HTTP/1.1 200 OK\r\n\r\n";

void as_etcd(std::string_view bytes) {
  if (auto const range = etcd::parse_range(bytes)) {
    require(range->exists || range->value.empty());
  }
  if (auto const transaction = etcd::parse_transaction(bytes)) {
    require(!transaction->succeeded || !transaction->found.exists);
  }
  static_cast<void>(etcd::parse_kept_alive(bytes));
  static_cast<void>(etcd::parse_token(bytes));
  static_cast<void>(etcd::owner_of(bytes));
  require(!etcd::parse_failure(500, bytes).message.empty());
  if (auto const decoded = lastcall::base64_decode(bytes)) {
    require(lastcall::base64_decode(lastcall::base64_encode(*decoded)) == decoded);
  }
}

void as_kubernetes(std::string_view bytes) {
  kubernetes::Pod const pod{.space = "models", .name = "qwen-0", .uid = "u-1"};
  kubernetes::Slices slices(pod);
  if (slices.take_list(bytes)) {
    require(!slices.resource_version().empty());
  }
  static_cast<void>(slices.take_change(bytes));
  static_cast<void>(slices.ready_in());
  static_cast<void>(kubernetes::deletion_grace(pod, bytes));
  require(!kubernetes::refusal_of(500, bytes).empty());
}

void as_template(std::string_view bytes) {
  Instance instance;
  instance.model = bytes;
  auto const message = http_message(bytes, "register", instance);
  require(bytes.empty() || bytes.find("${") != std::string_view::npos || message == bytes);
}

auto filtered(std::string bytes, std::size_t step, bool is_head) {
  AnswerFilter filter(is_head);
  std::string out;
  for (std::size_t at = 0; at < bytes.size() && !filter.is_malformed(); at += step) {
    filter.take(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
    out += filter.ready();
    require(out.size() <= bytes.size() + kShortHead);
  }
  filter.end();
  require(!filter.keeps_alive() || filter.is_whole());
  return std::tuple(out, filter.is_whole(), filter.is_malformed());
}

void as_answer(std::string_view bytes) {
  for (bool const is_head : {false, true}) {
    auto const whole = filtered(std::string(bytes), bytes.size() + 1, is_head);
    require(whole == filtered(std::string(bytes), 7, is_head));
    std::string const& out = std::get<0>(whole);
    require(out.empty() || (out.starts_with("HTTP/1.1 ") && out.find("\r\n\r\n") < kShortHead));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // Ten readers take the same bytes. Nested lists are the dearest: 1,556 steps a byte, however
  // deep.
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 2'000, .besides = 200'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  as_etcd(bytes);
  as_kubernetes(bytes);
  as_template(bytes);
  as_answer(bytes);
  return 0;
}
