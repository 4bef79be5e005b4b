// What registries answer, and what templates say, as any bytes. Checked:
//  1. nothing that was read crashes what reads it, and a key that does not exist has no content;
//  2. base64 that is taken is what its bytes encode to;
//  3. a message never fails, and without a name in it a template stays as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "discovery/etcd_wire.hpp"
#include "discovery/http_message.hpp"
#include "discovery/kubernetes_wire.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::discovery;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

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
  if (auto const decoded = etcd::base64_decode(bytes)) {
    require(etcd::base64_decode(etcd::base64_encode(*decoded)) == decoded);
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // Nine readers take the same bytes. Nested lists are the dearest: 1,556 steps a byte, however
  // deep.
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 2'000, .besides = 200'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  as_etcd(bytes);
  as_kubernetes(bytes);
  as_template(bytes);
  return 0;
}
