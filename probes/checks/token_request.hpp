// Asks an engine for one token, as any client would, and reports whether it generated one.
//
// Rules:
//  1. One request at a time; `done` is called exactly once, later, from the loop. If cancel() comes
//     first, `done` is never called, and the connection is closed so that the engine drops the
//     request.
//  2. Only a 200 with a choice that ended by itself and has a token is `generated`. A 200 without a
//     body is `empty`; anything else is `refused` with its reason. The caller decides how long to
//     wait: the answer has no time limit, but the steps before it have one.
//  3. An engine that reports that it sleeps or is paused gets no request. While the answer takes
//     long, its state is read again: if it rests by then, the request is withdrawn, because it
//     would be answered only after the engine is woken. A server that does not report its state
//     gets the request as usual. `sent` is called once the request was written, so not for one that
//     was not made.
//  4. The model is the configured one, or the first that the engine lists. The list is read each
//     time, because an engine may be replaced.
//
//  5. again() reuses what the last ask() found out.
//
// Thread rule: everything on the loop's thread. Source: the OpenAI API's completions; vLLM's
// /is_sleeping and /is_paused, which a server without them answers with 404.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "probes/checks/check.hpp"

namespace lastcall::probes {

/// A path whose answer has a member that is true while the engine takes no request.
struct AtRest {
  std::string url;
  std::string member;
};

struct TokenRequestSettings {
  std::string url;              // .../v1/completions or .../v1/chat/completions
  std::string models_url;       // a list of models; used if no model is named
  std::vector<AtRest> at_rest;  // empty: it never sleeps, or does not report it
  std::string model;
  std::vector<std::pair<std::string, std::string>> headers;
  Duration look_again{3'000};  // the interval while there is no answer
};

class TokenRequest {
 public:
  enum class Outcome : std::uint8_t { generated, refused, asleep, empty };
  using Sent = std::function<void()>;
  using Done = std::function<void(Outcome, std::string const& detail)>;

  TokenRequest(boost::asio::any_io_executor executor, TokenRequestSettings settings);
  ~TokenRequest();

  using Header = std::pair<std::string, std::string>;

  /// Why the settings cannot be used; empty if they can.
  std::string const& problem() const { return problem_; }
  /// `further` is an additional header for this request only.
  void ask(Sent sent, Done done, std::optional<Header> further = std::nullopt);
  /// Sends another request right after an answer, for example to another rank.
  void again(Sent sent, Done done, Header further);
  void cancel();

 private:
  class State;
  std::shared_ptr<State> state_;
  std::string problem_;
};

/// The body of a request for one token; the URL's path determines which of the two forms it has.
std::string token_request_body(std::string const& url, std::string const& model);

}  // namespace lastcall::probes
