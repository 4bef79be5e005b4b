// Finds out whether the ids that a worker has reported are level with the text that the client has
// received: before an answer continues at another worker, a worker's `/detokenize` converts the ids
// to text.
//
// Theory of operation. If the last event reported several ids (because a slow reader merged events,
// or because of speculative decoding), or if the engine may hold text back, there may be pending
// bytes that are not visible. The ids after the last clean boundary are sent to a worker; if they
// convert to the text that the client has after that boundary, the continuation sends the ids,
// otherwise the text (continuation/transcript.hpp).
//
// Rules:
//  1. There is one question per answer and failure, and it takes at most `timeouts.connect`. No
//     answer, or a different text, is no proof; it ends nothing and does not count against a
//     worker.
//  2. The owner is notified of the end once, with the value that it passed to begin().
//
// Thread rule: the router's thread. Source: docs/continuation.md, 'Clean boundaries'.
#pragma once

#include <memory>
#include <string_view>

#include "router/call.hpp"
#include "router/continuation/refused.hpp"
#include "router/continuation_owner.hpp"
#include "router/own_question.hpp"
#include "router/seam.hpp"

namespace lastcall::router {

struct Parts;

/// Why an answer moves to another worker.
struct MoveCause {
  std::shared_ptr<Worker> worker;  // the one that it leaves
  std::string_view reason;         // static text
  continuation::Refused limit = continuation::Refused::no;
};

class LevelProof {
 public:
  /// All of them outlive this.
  LevelProof(Parts& parts, Call const& call, Seam& seam, ContinuationOwner& owner);

  /// Returns false if there is nothing to prove, or no worker for it.
  bool begin(MoveCause const& cause);
  void drop() { question_.drop(); }

 private:
  void answered(WholeAnswer const& answer);

  Parts& parts_;
  Call const& call_;
  Seam& seam_;
  ContinuationOwner& owner_;
  MoveCause cause_;
  OwnQuestion question_;
};

}  // namespace lastcall::router
