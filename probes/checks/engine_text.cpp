#include "probes/checks/engine_text.hpp"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "probes/checks/text_attempt.hpp"

namespace lastcall::probes {

namespace asio = boost::asio;

struct EngineText::Loop {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::shared_ptr<bool> lookup_hangs = std::make_shared<bool>(false);
};

struct EngineText::Fetch {
  Headers headers;
  Duration timeout{};
  Done done;
  Answer answer;
};

EngineText::EngineText(std::string const& url) : problem_(parse_http_url(url, url_)) {}

EngineText::~EngineText() {
  if (loop_) {
    loop_->io.stop();
  }
  thread_.join();
}

void EngineText::fetch(Headers headers, Duration timeout, Done done) {
  auto const fetch = std::make_shared<Fetch>();
  *fetch = {std::move(headers), timeout, std::move(done), {}};
  fetch->answer.problem = problem_;
  if (!loop_) {
    loop_ = std::make_unique<Loop>();
    if (thread_.start("engine-metrics", [loop = loop_.get()] { loop->io.run(); }) != 0) {
      loop_.reset();
      fetch->done({.problem = "no thread can be started"});
      return;
    }
  }
  if (under_way_ >= kMostAtOnce) {
    fetch->answer.problem = "too many scrapes at once";
  }
  ++under_way_;
  asio::post(loop_->io, [this, fetch] {
    if (fetch->answer.problem.empty()) {
      begin(fetch);
    } else {
      --under_way_;
      fetch->done(std::move(fetch->answer));
    }
  });
}

void EngineText::begin(std::shared_ptr<Fetch> const& fetch) {
  auto const attempt = std::make_shared<TextAttempt>(
      loop_->io.get_executor(), url_, fetch->headers, loop_->lookup_hangs,
      [fetch](std::string_view content_type, std::string_view piece) {
        fetch->answer.content_type = content_type;
        fetch->answer.text.append(piece);
      },
      [this, fetch](CheckOutcome const& outcome) {
        --under_way_;
        fetch->answer.is_late = outcome.result == CheckResult::timed_out;
        fetch->answer.problem = outcome.detail;
        fetch->done(std::move(fetch->answer));
      });
  attempt->begin(fetch->timeout);
}

}  // namespace lastcall::probes
