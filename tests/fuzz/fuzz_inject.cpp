// Injection into any bytes, and into manifests in any layout (manifest_grammar.hpp). Checked:
//  1. what inject_properties.hpp checks, for both;
//  2. a manifest that keeps to the grammar is never refused, and gets a sidecar;
//  3. of it every byte stays, in its order, where no number was too small and nothing was null.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "inject/inject.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/inject_properties.hpp"
#include "tests/fuzz/manifest_grammar.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;

[[noreturn]] void fail(std::string const& why, std::string const& manifests) {
  std::fprintf(stderr, "%s:\n%s\n", why.c_str(), manifests.c_str());
  std::abort();
}

bool is_subsequence(std::string_view part, std::string_view whole) {
  std::size_t at = 0;
  for (char const c : whole) {
    at += at < part.size() && part[at] == c ? 1 : 0;
  }
  return at == part.size();
}

inject::Options options_of(fuzz::Choices& choose) {
  inject::Options options;
  options.is_native = !choose.one_in(3);
  options.pod.image = "lastcall:1";
  options.pod.shim_image = "lastcall-shim:1";
  options.config = choose.one_in(4) ? "engine: {kind: vllm}\n" : "";
  return options;
}

void check_derived(fuzz::Choices& choose) {
  inject::Options const options = options_of(choose);
  std::string const manifests = fuzz::derive_manifests(choose);
  std::string const fault = fuzz::fault_of(manifests, options);
  if (!fault.empty()) {
    fail(fault, manifests);
  }
  inject::Outcome const outcome = inject::inject({{"m.yaml", manifests}}, options);
  if (!outcome.refusals.empty()) {
    fail(to_text(outcome.refusals[0]), manifests);
  }
  if (outcome.changed.size() != 1) {
    fail("no sidecar", manifests);
  }
  bool const may_replace =
      manifests.find("null") != std::string::npos || manifests.find("Seconds") != std::string::npos;
  if (!may_replace && !is_subsequence(manifests, outcome.texts[0])) {
    fail("a byte is gone", manifests);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 100'000, .besides = 30'000'000});
  constexpr std::string_view kRaw = "raw\n";
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  if (bytes.starts_with(kRaw)) {
    std::string const manifests(bytes.substr(kRaw.size()));
    fuzz::Choices none(nullptr, 0);
    std::string const fault = fuzz::fault_of(manifests, options_of(none));
    if (!fault.empty()) {
      fail(fault, manifests);
    }
  } else {
    fuzz::Choices choose(data, size);
    check_derived(choose);
  }
  return 0;
}
