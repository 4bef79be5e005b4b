#include "probes/checks/token_request.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "probes/checks/engine_answers.hpp"
#include "probes/checks/http_attempt.hpp"
#include "probes/checks/text_attempt.hpp"

namespace lastcall::probes {

namespace asio = boost::asio;

namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kLook{5'000};
constexpr Duration kPatience{std::chrono::hours(24)};
constexpr std::size_t kMostAnswer = std::size_t{64} * 1024;
constexpr std::size_t kMostList = 1024 * 1024;

bool is_chat(std::string const& url) {
  return url.find("/chat/") != std::string::npos;
}

/// Posts a JSON text and collects the whole answer.
class PostAttempt final : public HttpAttempt {
 public:
  PostAttempt(asio::any_io_executor const& executor, HttpUrl const& url, Headers const& headers,
              std::string_view body, std::shared_ptr<bool> lookup_hangs,
              std::function<void()> on_sent, std::function<void()> on_empty, CheckDone done)
      : HttpAttempt(executor, url, post_request(url, headers, body), std::move(lookup_hangs),
                    std::move(done)),
        on_sent_(std::move(on_sent)),
        on_empty_(std::move(on_empty)) {}

 private:
  void sent() override { on_sent_(); }

  Then head(unsigned status, std::string_view) override {
    constexpr unsigned kOk = 200;
    if (status == kOk) {
      return Then::go_on;
    }
    fail("status " + std::to_string(status));
    return Then::stop;
  }

  Then piece(std::string_view bytes) override {
    if (answer_.size() + bytes.size() > kMostAnswer) {
      fail("cannot read the response: body limit exceeded");
      return Then::stop;
    }
    answer_.append(bytes);
    return Then::go_on;
  }

  void complete() override {
    if (answer_.empty()) {
      on_empty_();
    }
    if (std::string why = why_no_token(answer_); !why.empty()) {
      fail(std::move(why));
    } else {
      report({.result = CheckResult::passed});
    }
  }

  std::function<void()> on_sent_;
  std::function<void()> on_empty_;
  std::string answer_;
};

}  // namespace

std::string token_request_body(std::string const& url, std::string const& model) {
  Json body{{"model", model}};
  if (is_chat(url)) {
    body["messages"] = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  } else {
    body["prompt"] = "Hi";
  }
  body["max_tokens"] = 1;
  body["temperature"] = 0;
  body["stream"] = false;
  return body.dump();
}

class TokenRequest::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::any_io_executor executor, TokenRequestSettings settings)
      : executor_(std::move(executor)), settings_(std::move(settings)) {}

  std::string prepare() {
    std::string problem = parse_http_url(settings_.url, url_);
    if (problem.empty() && !settings_.models_url.empty()) {
      problem = parse_http_url(settings_.models_url, models_);
    }
    for (AtRest const& each : settings_.at_rest) {
      if (problem.empty()) {
        problem = parse_http_url(each.url, at_rest_.emplace_back());
      }
    }
    return problem;
  }

  void ask(Sent sent, Done done, std::optional<Header> further) {
    begin(std::move(sent), std::move(done), std::move(further));
    can_answer_ = false;
    look(attempt_, 0, [this](bool rests) {
      if (rests) {
        end(Outcome::asleep, "the engine is asleep and accepts no requests");
      } else {
        find_model();
      }
    });
  }

  void again(Sent sent, Done done, Header further) {
    begin(std::move(sent), std::move(done), std::move(further));
    post();
  }

  void cancel() {
    abandon(attempt_);
    stop_watching();
    sent_ = {};
    done_ = {};
  }

 private:
  using Attempt = std::shared_ptr<ConnectAttempt>;
  using Read = std::function<void(CheckResult, std::string const& text)>;

  static void abandon(Attempt& attempt) {
    if (attempt) {
      attempt->abandon();
      attempt.reset();
    }
  }

  void begin(Sent sent, Done done, std::optional<Header> further) {
    further_ = std::move(further);
    sent_ = std::move(sent);
    done_ = std::move(done);
    is_empty_ = false;
  }

  /// Asks each path whether the engine is at rest. If the first one gets no answer, the others are
  /// not asked: the request itself then shows that the engine is silent.
  void look(Attempt& by, std::size_t index, std::function<void(bool)> then) {
    if (index == at_rest_.size()) {
      then(false);
      return;
    }
    get(by, at_rest_[index],
        [this, &by, index, then = std::move(then)](CheckResult result, std::string const& text) {
          std::optional<bool> const rests = is_true(text, settings_.at_rest[index].member);
          bool const is_known = result == CheckResult::passed && rests;
          can_answer_ = can_answer_ || is_known;
          if ((is_known && *rests) || result == CheckResult::timed_out) {
            then(is_known);
          } else {
            look(by, index + 1, then);
          }
        });
  }

  void find_model() {
    if (!settings_.model.empty()) {
      model_ = settings_.model;
      post();
      return;
    }
    get(attempt_, models_, [this](CheckResult result, std::string const& text) {
      std::optional<std::string> id = first_model(text).id;
      if (result != CheckResult::passed || !id) {
        end(Outcome::refused, "the engine lists no model");
      } else {
        model_ = std::move(*id);
        post();
      }
    });
  }

  void get(Attempt& by, HttpUrl const& url, Read then) {
    auto const text = std::make_shared<std::string>();
    by = std::make_shared<TextAttempt>(
        executor_, url, settings_.headers, hangs_,
        [text](std::string_view, std::string_view piece) {
          *text += piece.substr(0, kMostList - std::min(kMostList, text->size()));
        },
        [self = shared_from_this(), text, then = std::move(then)](CheckOutcome const& outcome) {
          then(outcome.result, *text);
        });
    by->begin(kLook);
  }

  void post() {
    Headers headers = settings_.headers;
    if (further_) {
      headers.push_back(*further_);
    }
    attempt_ = std::make_shared<PostAttempt>(
        executor_, url_, headers, token_request_body(settings_.url, model_), hangs_,
        [self = shared_from_this()] {
          if (self->sent_) {
            self->sent_();
          }
        },
        [self = shared_from_this()] { self->is_empty_ = true; },
        [self = shared_from_this()](CheckOutcome const& outcome) {
          bool const is_good = outcome.result == CheckResult::passed;
          Outcome const bad = self->is_empty_ ? Outcome::empty : Outcome::refused;
          self->end(is_good ? Outcome::generated : bad, outcome.detail);
        });
    attempt_->begin(kPatience);
    if (can_answer_) {
      watch();
    }
  }

  /// Looks again and again while the answer is awaited.
  void watch() {
    again_.expires_after(settings_.look_again);
    again_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (error || !self->done_) {
        return;
      }
      self->look(self->watch_, 0, [self](bool rests) {
        if (!rests) {
          self->watch();
          return;
        }
        abandon(self->attempt_);
        self->end(Outcome::asleep, "the engine fell asleep after the request was sent");
      });
    });
  }

  void stop_watching() {
    again_.cancel();
    abandon(watch_);
  }

  void end(Outcome outcome, std::string const& detail) {
    attempt_.reset();
    stop_watching();
    sent_ = {};
    if (Done const done = std::exchange(done_, {})) {
      done(outcome, detail);
    }
  }

  asio::any_io_executor executor_;
  TokenRequestSettings settings_;
  HttpUrl url_;
  HttpUrl models_;
  std::deque<HttpUrl> at_rest_;  // attempts refer to them
  std::shared_ptr<bool> hangs_ = std::make_shared<bool>(false);
  Attempt attempt_;
  Attempt watch_;
  asio::steady_timer again_{executor_};
  std::string model_;
  std::optional<Header> further_;
  bool can_answer_ = false;  // the engine has answered whether it is at rest
  bool is_empty_ = false;    // the answer has no body
  Sent sent_;
  Done done_;
};

TokenRequest::TokenRequest(asio::any_io_executor executor, TokenRequestSettings settings)
    : state_(std::make_shared<State>(std::move(executor), std::move(settings))),
      problem_(state_->prepare()) {}

TokenRequest::~TokenRequest() {
  state_->cancel();
}

void TokenRequest::ask(Sent sent, Done done, std::optional<Header> further) {
  state_->cancel();
  state_->ask(std::move(sent), std::move(done), std::move(further));
}

void TokenRequest::again(Sent sent, Done done, Header further) {
  state_->cancel();
  state_->again(std::move(sent), std::move(done), std::move(further));
}

void TokenRequest::cancel() {
  state_->cancel();
}

}  // namespace lastcall::probes
