// Decides whether a client may send a request that controls the engine, and reports such requests.
//
// Thread rule: the loop's thread. Source: docs/ingress.md, 'Control paths'.
#pragma once

#include <cstdint>
#include <string_view>

#include "ingress/connection_observer.hpp"
#include "ingress/options.hpp"
#include "ingress/tls.hpp"
#include "relay/control_paths.hpp"
#include "relay/http_head.hpp"

namespace lastcall::ingress {

class ControlGate {
 public:
  enum class Verdict : std::uint8_t {
    open,
    refused,
    operators_only,  // a token or a client certificate would have opened it
    ambiguous,       // nothing else is decided then
  };
  struct Decision {
    Verdict verdict = Verdict::open;
    bool is_control = false;  // a drain neither waits for such requests nor refuses them
  };
  struct Caller {
    TlsSession const* tls = nullptr;  // null if it speaks plain HTTP
    std::string_view address;
  };

  /// Both outlive it.
  ControlGate(Control const& control, ConnectionObserver& observer);

  /// `target` is in origin form, with its query.
  Decision decide(relay::RequestHead const& head, std::string_view target,
                  Caller const& caller) const;

 private:
  bool has_operators() const { return !control_.token.empty() || !control_.certificates.empty(); }

  Control const& control_;
  ConnectionObserver& observer_;
  relay::ControlPaths const paths_;
};

}  // namespace lastcall::ingress
