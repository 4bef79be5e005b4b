// Fetches the engine's own Prometheus text, for scrapes that come through us.
//
// Invariants:
//  1. It has a thread of its own, made at the first fetch: neither the core's loop nor the listener
//     ever waits for an engine, and without such scrapes there is no such thread.
//  2. `done` is called exactly once, on that thread, within the timeout; or never, if the object is
//     destroyed first.
//  3. At most kMostAtOnce fetches run at a time, each of at most TextAttempt::kMostText bytes;
//     further ones fail at once.
//
// Thread rule: fetch() from one thread at a time. Source: RFC 9110, 15.6.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/thread.hpp"
#include "probes/checks/http_attempt.hpp"
#include "probes/checks/http_url.hpp"

namespace lastcall::probes {

class EngineText {
 public:
  static constexpr std::size_t kMostAtOnce = 4;

  struct Answer {
    bool is_late = false;  // there was no answer in time
    std::string problem;   // empty: the text is complete
    std::string content_type;
    std::string text;
  };
  using Done = std::function<void(Answer)>;

  explicit EngineText(std::string const& url);
  ~EngineText();
  EngineText(EngineText const&) = delete;
  EngineText& operator=(EngineText const&) = delete;

  void fetch(Headers headers, Duration timeout, Done done);

 private:
  struct Loop;
  struct Fetch;

  void begin(std::shared_ptr<Fetch> const& fetch);

  HttpUrl url_;
  std::string problem_;  // what is wrong with the URL
  std::atomic<std::size_t> under_way_ = 0;
  std::unique_ptr<Loop> loop_;
  SmallThread thread_;
};

}  // namespace lastcall::probes
