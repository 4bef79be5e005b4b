// What anybody can post to the admission webhook: any bytes, and reviews of pods derived from a
// grammar (pod_grammar.hpp). Checked, for both:
//  1. the answer is JSON: an error with its reason, or a response with the review's uid;
//  2. what was not understood, or refused, is never admitted;
//  3. a patch adds and takes nothing away, but for a number or a null in place of which another
//     value has to stand; it brings the sidecar, and a second review changes nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "inject/pod_parts.hpp"
#include "supervisor/kube/json.hpp"
#include "supervisor/kube/review.hpp"
#include "supervisor/kube/sidecar_config.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/pod_grammar.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using fuzz::require;
using kube::Json;
using kube::ReviewEnd;

std::string decoded(std::string_view base64) {
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (char const c : base64.substr(0, base64.find('='))) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6U | static_cast<unsigned>(kDigits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
    }
  }
  return out;
}

kube::ReviewSettings settings() {
  kube::ReviewSettings settings;
  settings.inject.pod.image = "lastcall:1";
  settings.inject.pod.shim_image = "lastcall-shim:1";
  settings.inject.check = [](inject::SidecarConfig const& sidecar) {
    return kube::problems_of(sidecar, "lastcall.dev/config");
  };
  return settings;
}

kube::ReviewAnswer answer_to(std::string const& review) {
  fuzz::BoundedWork const work(review.size(), {.a_byte = 100'000, .besides = 30'000'000});
  return kube::answer_review(review, settings());
}

/// Applies the patch as the API server would.
Json patched(Json pod, Json const& patch, std::string const& review) {
  for (Json const& operation : patch) {
    std::string const kind = json::text(json::member(operation, "op"));
    Json const* before = nullptr;
    if (kind == "replace") {
      before = &pod.at(Json::json_pointer(json::text(json::member(operation, "path"))));
    }
    require(kind == "add" || (before != nullptr && (before->is_null() || before->is_number())),
            "something is taken away", review);
    pod.patch_inplace(Json::array({operation}));
  }
  return pod;
}

bool has_sidecar(Json const& pod) {
  for (char const* const list : {"containers", "initContainers"}) {
    Json const& all = json::member(json::member(pod, "spec"), list);
    if (std::any_of(all.begin(), all.end(), [](Json const& one) {
          return json::text(json::member(one, "name")) == inject::kSidecar;
        })) {
      return true;
    }
  }
  return false;
}

/// Returns the response, where there is one.
Json response_to(std::string const& review, kube::ReviewAnswer const& answer) {
  Json const body = Json::parse(answer.body);
  if (answer.status != 200) {
    require(answer.status == 400 && answer.end == ReviewEnd::invalid, "another status", review);
    require(!body.at("error").get<std::string>().empty(), "no reason", review);
    return {};
  }
  Json const& response = body.at("response");
  Json const asked = Json::parse(review);
  require(response.at("uid") == asked.at("request").at("uid"), "another uid", review);
  bool const is_allowed = response.at("allowed").get<bool>();
  require(is_allowed == (answer.end == ReviewEnd::injected || answer.end == ReviewEnd::unchanged),
          "admitted all the same, or refused", review);
  require(is_allowed || !answer.reason.empty(), "refused without a reason", review);
  return response;
}

void check(std::string const& review) {
  kube::ReviewAnswer const answer = answer_to(review);
  Json const response = response_to(review, answer);
  require((answer.end == ReviewEnd::injected) == (json::member(response, "patch") != nullptr),
          "a patch that is not due, or none", review);
  if (answer.end != ReviewEnd::injected) {
    return;
  }
  Json again = Json::parse(review);
  Json& pod = again["request"]["object"];
  pod = patched(pod, Json::parse(decoded(response.at("patch").get<std::string>())), review);
  require(has_sidecar(pod), "no sidecar", review);
  require(kube::answer_review(json::dump(again), settings()).end == ReviewEnd::unchanged,
          "twice is not once", review);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  // A review begins with '{', and a derivation of the grammar need not.
  if (bytes.starts_with('{')) {
    check(std::string(bytes));
  } else {
    fuzz::Choices choose(data, size);
    check(fuzz::derive_review(choose));
  }
  return 0;
}
