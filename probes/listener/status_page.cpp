#include "probes/listener/status_page.hpp"

#include <utility>

namespace lastcall::probes {

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

Headers headers(Headers more = {}) {
  Headers all{{"Cache-Control", "no-store"},
              {"X-Content-Type-Options", "nosniff"},
              {"Referrer-Policy", "no-referrer"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Reply page() {
  return Reply{
      .body = std::string(status_html()),
      .content_type = "text/html; charset=utf-8",
      .headers = headers({{"Content-Security-Policy",
                           "default-src 'none'; style-src 'unsafe-inline'; "
                           "script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
                           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                          {"Cross-Origin-Resource-Policy", "same-origin"}})};
}

Reply document(std::string body) {
  return Reply{.body = std::move(body),
               .content_type = "application/json",
               .headers = headers({{"Cross-Origin-Resource-Policy", "same-origin"}})};
}

}  // namespace

bool StatusPage::answer(Request const& request, Responder const& responder) {
  bool const wants_page = request.path == "/";
  if (!wants_page && request.path != "/status") {
    return false;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    responder.send({.status = 405,
                    .body = "method " + request.method + " is not allowed here, use GET or HEAD\n",
                    .headers = {{"Allow", "GET, HEAD"}}});
    return true;
  }
  if (wants_page) {
    responder.send(page());
    return true;
  }
  bool must_ask = false;
  if (auto reply = from_memory(responder, must_ask)) {
    responder.send(std::move(*reply));
  }
  if (must_ask) {
    ask_();
  }
  return true;
}

std::optional<Reply> StatusPage::from_memory(Responder const& responder, bool& must_ask) {
  std::lock_guard const lock(mutex_);
  if (made_at_ && Clock::now() - *made_at_ < kFresh) {
    return document(document_);
  }
  if (waiting_.size() == kMostWaiting) {
    return Reply{.status = 503, .body = "the loop does not answer: see /livez\n"};
  }
  must_ask = waiting_.empty();
  waiting_.push_back(responder);
  return std::nullopt;
}

void StatusPage::publish(std::string text) {
  std::vector<Responder> waiting;
  {
    std::lock_guard const lock(mutex_);
    document_ = text;
    made_at_ = Clock::now();
    waiting.swap(waiting_);
  }
  for (Responder const& responder : waiting) {
    responder.send(document(text));
  }
}

}  // namespace lastcall::probes
