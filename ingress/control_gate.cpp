#include "ingress/control_gate.hpp"

#include <cstddef>

#include "base/same_secret.hpp"

namespace lastcall::ingress {
namespace {

/// The log shows no more of a path.
constexpr std::size_t kMaxLoggedPath = 200;

/// How a caller has shown that it is an operator.
struct Proof {
  bool is_given = false;
  std::string_view certificate;  // the name that it has; empty for the token or none
};

Proof proof_of(relay::RequestHead const& head, Control const& control, TlsSession const* tls) {
  std::string_view given;
  if (!control.token.empty() && head.fields.count("x-lastcall-token", given) == 1 &&
      same_secret(given, control.token)) {
    return {.is_given = true, .certificate = {}};
  }
  std::string_view const certificate =
      tls != nullptr ? tls->peer_named(control.certificates) : std::string_view();
  return {.is_given = !certificate.empty(), .certificate = certificate};
}

}  // namespace

ControlGate::ControlGate(Control const& control, ConnectionObserver& observer)
    : control_(control), observer_(observer), paths_(control.paths) {}

ControlGate::Decision ControlGate::decide(relay::RequestHead const& head, std::string_view target,
                                          Caller const& caller) const {
  relay::ControlPaths::Decision const path = paths_.decide(target);
  if (path.is_ambiguous) {
    return {.verdict = Verdict::ambiguous};
  }
  bool const is_open = path.access == relay::Access::relay;
  if (is_open && path.rest == relay::Rest::none) {
    return {.verdict = Verdict::open, .is_control = path.is_control};
  }
  Proof const proof = path.access == relay::Access::operators
                          ? proof_of(head, control_, caller.tls)
                          : Proof{.is_given = is_open, .certificate = {}};
  std::string_view const shown = target.substr(0, target.find('?')).substr(0, kMaxLoggedPath);
  observer_.control_called({.is_granted = proof.is_given,
                            .is_open = is_open,
                            .rest = proof.is_given ? path.rest : relay::Rest::none,
                            .certificate = proof.certificate,
                            .method = head.method,
                            .path = shown,
                            .address = caller.address});
  Verdict verdict = Verdict::open;
  if (!proof.is_given) {
    verdict = path.access == relay::Access::operators && has_operators() ? Verdict::operators_only
                                                                         : Verdict::refused;
  }
  return {.verdict = verdict, .is_control = path.is_control};
}

}  // namespace lastcall::ingress
