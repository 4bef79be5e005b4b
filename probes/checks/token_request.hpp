// Asks an engine for one token, as any client would, and reports whether it generated one.
//
// Rules:
//  1. One request at a time; `done` is called exactly once, later, from the loop, unless cancel()
//     comes first: then never, and the connection is closed, so that an engine gives the request
//     up.
//  2. Only a 200 with a choice that ended by itself and has a token is `generated`; anything else
//     is `refused` with its reason, but a 200 without a body, which is `empty`. The caller decides
//     how long it waits: the answer has no time limit, the steps before it have.
//  3. An engine that reports that it sleeps or is paused is not asked, and while the answer takes
//     long it is looked at again: one that reports it then has the request withdrawn, because it
//     would be answered when the engine is woken. A server that cannot report it is asked as usual.
//     `sent` is called when the request is on its way, and so not for one that was never put.
//  4. The model is the configured one, or the first that the engine lists, which is asked for each
//     time: an engine may be replaced.
//
//  5. again() takes for known what the last ask() found out.
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
  std::string models_url;       // a list of models; used where no model is named
  std::vector<AtRest> at_rest;  // empty: it never sleeps, or cannot report it
  std::string model;
  std::vector<std::pair<std::string, std::string>> headers;
  Duration look_again{3'000};  // after so long without an answer
};

class TokenRequest {
 public:
  enum class Outcome : std::uint8_t { generated, refused, asleep, empty };
  using Sent = std::function<void()>;
  using Done = std::function<void(Outcome, std::string const& detail)>;

  TokenRequest(boost::asio::any_io_executor executor, TokenRequestSettings settings);
  ~TokenRequest();

  using Header = std::pair<std::string, std::string>;

  /// Why the settings cannot make one; empty: they can.
  std::string const& problem() const { return problem_; }
  /// `further`: a header of this request alone.
  void ask(Sent sent, Done done, std::optional<Header> further = std::nullopt);
  /// Another one right after an answer, to another rank, for example.
  void again(Sent sent, Done done, Header further);
  void cancel();

 private:
  class State;
  std::shared_ptr<State> state_;
  std::string problem_;
};

/// The whole request of one token; the path determines which of the two forms it has.
std::string token_request_body(std::string const& url, std::string const& model);

}  // namespace lastcall::probes
