#include "probes/checks/token_request.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

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

Json parsed(std::string const& text) {
  return Json::parse(text, nullptr, false);
}

/// The member of that name; null where there is none.
Json member(Json const& object, char const* name) {
  return object.is_object() ? object.value(name, Json()) : Json();
}

bool is_chat(std::string const& url) {
  return url.find("/chat/") != std::string::npos;
}

/// POST of a JSON text, and the whole answer as text.
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

std::string why_no_token(std::string const& body) {
  Json const answer = parsed(body);
  Json const choices = member(answer, "choices");
  if (!choices.is_array() || choices.empty()) {
    return "an answer without a choice";
  }
  Json const& choice = choices.front();
  Json const reason = member(choice, "finish_reason");
  if (reason != "length" && reason != "stop") {
    return "a choice that did not end by itself";
  }
  Json const counted = member(member(answer, "usage"), "completion_tokens");
  if (counted.is_number()) {
    return counted.get<double>() >= 1 ? "" : "an answer without a token";
  }
  Json const message = member(choice, "message");
  Json const text = message.is_null() ? member(choice, "text") : member(message, "content");
  return text.is_string() && !text.get_ref<std::string const&>().empty()
             ? ""
             : "an answer without a token";
}

class TokenRequest::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::any_io_executor executor, TokenRequestSettings settings)
      : executor_(std::move(executor)), settings_(std::move(settings)) {}

  std::string prepare() {
    for (auto const& [text, url] :
         {std::pair{&settings_.url, &url_}, std::pair{&settings_.models_url, &models_},
          std::pair{&settings_.sleeping_url, &sleeping_}}) {
      if (text->empty()) {
        continue;
      }
      if (std::string problem = parse_http_url(*text, *url); !problem.empty()) {
        return problem;
      }
    }
    return {};
  }

  void ask(Sent sent, Done done, std::optional<Header> further) {
    further_ = std::move(further);
    sent_ = std::move(sent);
    done_ = std::move(done);
    is_empty_ = false;
    if (settings_.sleeping_url.empty()) {
      find_model();
    } else {
      get(sleeping_, [this](bool is_read) {
        bool const sleeps = is_read && member(parsed(text_), "is_sleeping") == true;
        sleeps ? end(Outcome::asleep, "it sleeps") : find_model();
      });
    }
  }

  void cancel() {
    if (attempt_) {
      attempt_->abandon();
      attempt_.reset();
    }
    sent_ = {};
    done_ = {};
  }

 private:
  void find_model() {
    if (!settings_.model.empty()) {
      post(settings_.model);
      return;
    }
    get(models_, [this](bool is_read) {
      Json const list = member(parsed(text_), "data");
      Json const id = list.is_array() && !list.empty() ? member(list.front(), "id") : Json();
      if (!is_read || !id.is_string()) {
        end(Outcome::refused, "it lists no model");
      } else {
        post(id.get<std::string>());
      }
    });
  }

  void get(HttpUrl const& url, std::function<void(bool)> then) {
    text_.clear();
    attempt_ = std::make_shared<TextAttempt>(
        executor_, url, settings_.headers, hangs_,
        [this](std::string_view, std::string_view piece) {
          text_ += piece.substr(0, kMostList - std::min(kMostList, text_.size()));
        },
        [self = shared_from_this(), then = std::move(then)](CheckOutcome const& outcome) {
          then(outcome.result == CheckResult::passed);
        });
    attempt_->begin(kLook);
  }

  void post(std::string const& model) {
    Headers headers = settings_.headers;
    if (further_) {
      headers.push_back(*further_);
    }
    attempt_ = std::make_shared<PostAttempt>(
        executor_, url_, headers, token_request_body(settings_.url, model), hangs_,
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
  }

  void end(Outcome outcome, std::string const& detail) {
    attempt_.reset();
    sent_ = {};
    if (Done const done = std::exchange(done_, {})) {
      done(outcome, detail);
    }
  }

  asio::any_io_executor executor_;
  TokenRequestSettings settings_;
  HttpUrl url_;
  HttpUrl models_;
  HttpUrl sleeping_;
  std::shared_ptr<bool> hangs_ = std::make_shared<bool>(false);
  std::shared_ptr<ConnectAttempt> attempt_;
  std::string text_;
  std::optional<Header> further_;
  bool is_empty_ = false;  // the answer
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

void TokenRequest::cancel() {
  state_->cancel();
}

}  // namespace lastcall::probes
