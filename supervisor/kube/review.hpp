// Answers the API server's admission reviews with a JSON Patch that adds lastcall to the pod.
//
// Rules:
//  1. A pod gets the same as from `lastcall inject`, and so the same as from the library chart and
//     the policy of charts/lastcall-injector (docs/injection.md, 'What a pod gets').
//  2. A pod that has a container `lastcall` is not changed, so a second call changes nothing. A pod
//     that does not ask for it (label or annotation lastcall.dev/inject: "true") is not changed,
//     either.
//  3. A pod that cannot be injected is answered according to `on_failure`, with every reason. A
//     body that is not a review of a pod's creation is refused; if it has no uid, it gets an HTTP
//     error with one reason. A body that was not understood is never admitted.
//  4. The body is not trusted: its depth is checked before it is parsed, and every part of it that
//     is printed is valid UTF-8.
//
// Pure except for inject::Options::check. No thread rule. Source: Kubernetes' admission.k8s.io/v1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inject/inject.hpp"

namespace lastcall::kube {

enum class OnFailure : std::uint8_t {
  deny,   // the pod is refused
  warn,   // the pod is created without lastcall, and its creator is warned
  audit,  // the pod is created without lastcall, and the audit log has the reason
};

enum class ReviewEnd : std::uint8_t { injected, unchanged, refused, invalid };
inline constexpr int kReviewEnds = 4;
/// The value of the metrics' label.
char const* name(ReviewEnd end);

struct ReviewAnswer {
  ReviewEnd end = ReviewEnd::invalid;
  int status = 200;    // HTTP's
  std::string body;    // JSON
  std::string pod;     // "NAMESPACE/NAME", as far as it is given; for the log
  std::string reason;  // why the pod is not injected; empty if it is
};

struct ReviewSettings {
  inject::Options inject;
  OnFailure on_failure = OnFailure::deny;
};

ReviewAnswer answer_review(std::string_view body, ReviewSettings const& settings);

}  // namespace lastcall::kube
