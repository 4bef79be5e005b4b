// Answers to the API server's admission reviews: a review in, the same pod with lastcall in it out,
// as a JSON Patch.
//
// Rules:
//  1. A pod gets what `lastcall inject` gives it, and so what the library chart and the policy of
//     charts/lastcall-injector give it (docs/injection.md, 'What a pod gets').
//  2. A pod that has a container `lastcall` stays as it is, so that a second call changes nothing.
//     One that does not ask (label or annotation lastcall.dev/inject: "true") stays as it is, too.
//  3. What cannot be injected is answered by `on_failure`, with every reason. A body that is not a
//     review of a pod's creation is an HTTP error with one reason where there is no uid to answer,
//     else a refusal: a body that was not understood never gets an answer that admits it.
//  4. Nothing of the body is believed: its depth is bounded before it is built, and what is printed
//     of it is valid UTF-8.
//
// Pure but for inject::Options::check. No thread rule. Source: Kubernetes' admission.k8s.io/v1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inject/inject.hpp"

namespace lastcall::kube {

enum class OnFailure : std::uint8_t {
  deny,   // the pod is refused
  warn,   // it comes without lastcall, and its creator is warned
  audit,  // it comes without lastcall, and the audit log has the reason
};

enum class ReviewEnd : std::uint8_t { injected, unchanged, refused, invalid };
inline constexpr int kReviewEnds = 4;
/// The label of the metrics.
char const* name(ReviewEnd end);

struct ReviewAnswer {
  ReviewEnd end = ReviewEnd::invalid;
  int status = 200;    // of HTTP
  std::string body;    // JSON
  std::string pod;     // "NAMESPACE/NAME", as far as it is given; for the log
  std::string reason;  // why it is not injected; empty: it is
};

struct ReviewSettings {
  inject::Options inject;
  OnFailure on_failure = OnFailure::deny;
};

ReviewAnswer answer_review(std::string_view body, ReviewSettings const& settings);

}  // namespace lastcall::kube
