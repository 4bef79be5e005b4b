#include "supervisor/kube/api_server.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/ascii.hpp"
#include "base/percent.hpp"
#include "discovery/kubernetes_wire.hpp"
#include "discovery/secret_file.hpp"
#include "discovery/watch_lines.hpp"

namespace lastcall::kube {
namespace {

using discovery::HttpReply;
using discovery::HttpRequest;
using json::member;
using json::text;

constexpr std::chrono::seconds kListPatience{20};
constexpr int kOk = 200;
constexpr int kGone = 410;
constexpr std::size_t kMostOfRefusal = 4096;
constexpr int kPage = 100;  // pods; fewer if an answer is too long

}  // namespace

std::string escaped(std::string const& text) {
  return percent_encoded(text, [](char c) {
    return ascii::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
  });
}

ApiServer::ApiServer(Access access)
    : access_(std::move(access)),
      client_(std::make_unique<discovery::HttpClient>(access_.tls)),
      has_credential_(!access_.plugin) {}

std::string ApiServer::path(std::string const& group, std::string const& rest) const {
  return (group == "v1" ? "/api/" : "/apis/") + group + "/namespaces/" + access_.space + "/" + rest;
}

std::string ApiServer::renew() {
  if (std::string failed = refresh(access_); !failed.empty()) {
    return failed;
  }
  has_credential_ = true;
  client_ = std::make_unique<discovery::HttpClient>(access_.tls);
  return {};
}

HttpReply ApiServer::send(HttpRequest const& request, TimePoint deadline) {
  for (bool is_again = false;; is_again = true) {
    if (!has_credential_) {
      if (std::string failed = renew(); !failed.empty()) {
        return {.error = std::move(failed)};
      }
    }
    std::string token = access_.token;
    if (!access_.token_file.empty()) {
      token = discovery::read_secret(access_.token_file).value_or("");
      if (token.empty()) {
        return {.error = discovery::why_no_service_account(access_.token_file)};
      }
    }
    HttpRequest asked = request;
    asked.headers.emplace_back("Accept", "application/json");
    if (!token.empty()) {
      asked.headers.emplace_back("Authorization", "Bearer " + token);
    }
    // The handler of a change may make a call while its watch still uses a client.
    HttpReply reply = asked.on_data
                          ? discovery::HttpClient(access_.tls).send(access_.server, asked, deadline)
                          : client_->send(access_.server, asked, deadline);
    if (reply.status != 401 || !access_.plugin || is_again) {
      return reply;
    }
    has_credential_ = false;
  }
}

Answer ApiServer::to_answer(HttpRequest const& request, HttpReply reply) const {
  Answer answer{.status = reply.status, .body = std::move(reply.body), .error = reply.error};
  if (answer.status != 0 && answer.status != 200 && answer.status != 201) {
    answer.error = request.method + " " + request.path.substr(0, request.path.find('?')) + ": " +
                   discovery::kubernetes::refusal_of(answer.status, answer.body);
  }
  return answer;
}

Answer ApiServer::ask(HttpRequest const& request, std::chrono::milliseconds patience) {
  HttpReply reply = send(request, TimePoint::clock::now() + patience);
  return to_answer(request, std::move(reply));
}

Answer ApiServer::get(std::string const& path, std::chrono::milliseconds patience) {
  return ask({.method = "GET", .path = path, .headers = {}, .body = {}}, patience);
}

Answer ApiServer::create(std::string const& path, Json const& object,
                         std::chrono::milliseconds patience) {
  return ask({.method = "POST", .path = path, .headers = {}, .body = json::dump(object)}, patience);
}

Answer ApiServer::patch(std::string const& path, Json const& operations,
                        std::chrono::milliseconds patience) {
  return ask({.method = "PATCH",
              .path = path,
              .headers = {{"Content-Type", "application/json-patch+json"}},
              .body = json::dump(operations)},
             patience);
}

ListAnswer ApiServer::list(std::string const& path, std::string const& query) {
  ListAnswer listed;
  int page = kPage;
  std::string from;
  do {
    HttpRequest const request{.method = "GET",
                              .path = path + "?limit=" + std::to_string(page) +
                                      (query.empty() ? "" : "&" + query) +
                                      (from.empty() ? "" : "&continue=" + escaped(from)),
                              .headers = {},
                              .body = {}};
    HttpReply reply = send(request, TimePoint::clock::now() + kListPatience);
    if (reply.is_too_long && page > 1) {
      page = std::max(1, page / 8);
      listed.items.clear();
      from.clear();
      continue;
    }
    Answer const answer = to_answer(request, std::move(reply));
    Json const json = answer.json();
    if (!answer.is_good() || !member(json, "metadata").is_object()) {
      listed.error = answer.is_good() ? "GET " + path + ": the answer is not a list" : answer.error;
      return listed;
    }
    for (Json const& item : member(json, "items")) {
      listed.items.push_back(item);
    }
    listed.version = text(member(member(json, "metadata"), "resourceVersion"));
    from = text(member(member(json, "metadata"), "continue"));
    if (from.empty()) {
      return listed;
    }
  } while (true);
}

Watched ApiServer::watch(std::string const& path, std::string const& query, std::string& version,
                         TimePoint until,
                         std::function<bool(std::string const&, Json const&)> const& take) {
  auto const now = TimePoint::clock::now();
  auto const left = std::chrono::ceil<std::chrono::seconds>(until - now).count();
  WatchEnd end = WatchEnd::time_over;
  discovery::WatchLines lines;
  auto const take_line = [&](std::string_view line) {
    Json const change = json::parsed<Json>(line);
    std::string const type = text(member(change, "type"));
    Json const& object = member(change, "object");
    if (type == "ERROR" || type.empty()) {
      end = WatchEnd::too_old;
      return false;
    }
    version = text(member(member(object, "metadata"), "resourceVersion"));
    if (type != "BOOKMARK" && !take(type, object)) {
      end = WatchEnd::enough;
      return false;
    }
    return true;
  };
  std::string begin_of_all;  // has the message if the server refuses
  HttpRequest const request{.method = "GET",
                            .path = path + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=" +
                                    std::to_string(std::max<long>(left, 1)) + "&resourceVersion=" +
                                    version + (query.empty() ? "" : "&" + query),
                            .headers = {},
                            .body = {},
                            .on_data = [&](std::string_view data) {
                              begin_of_all += data.substr(0, kMostOfRefusal - begin_of_all.size());
                              return lines.add(data, take_line);
                            }};
  HttpReply reply = send(request, until + std::chrono::seconds(2));
  reply.body = std::move(begin_of_all);
  if (reply.status == kOk || reply.status == kGone) {
    return {reply.status == kOk ? end : WatchEnd::too_old};
  }
  return {WatchEnd::failed, to_answer(request, std::move(reply)).error};
}

}  // namespace lastcall::kube
