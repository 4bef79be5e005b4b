#include "discovery/slice_client.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "discovery/kubernetes_wire.hpp"
#include "discovery/secret_file.hpp"
#include "discovery/watch_lines.hpp"

namespace lastcall::discovery {

namespace {

constexpr std::size_t kMostOfRefusal = 4096;

}  // namespace

HttpReply SliceClient::ask(HttpClient& client, TimePoint deadline, HttpRequest request) const {
  auto const token = read_secret(access_.token_file);
  if (!token) {
    return {.error = why_no_service_account(access_.token_file)};
  }
  request.headers.emplace_back("Authorization", "Bearer " + *token);
  request.headers.emplace_back("Accept", "application/json");
  return client.send(access_.server, request, deadline);
}

std::string SliceClient::path() const {
  return kubernetes::slices_path(space_, is_beta_ ? "v1beta1" : "v1", services_);
}

HttpReply SliceClient::ask_for_page(HttpClient& client, TimePoint deadline,
                                    std::string const& from) {
  auto const ask_once = [&] {
    auto where = path();
    where += kubernetes::page_suffix(where, page_, from);
    return ask(client, deadline, {.method = "GET", .path = std::move(where)});
  };
  auto reply = ask_once();
  if (reply.status == 404) {
    is_beta_ = !is_beta_;
    reply = ask_once();
  }
  return reply;
}

std::string SliceClient::list(HttpClient& client, TimePoint deadline,
                              kubernetes::SliceReader& slices) {
  std::string from;
  do {
    auto const reply = ask_for_page(client, deadline, from);
    is_too_long_ = reply.is_too_long;
    if (is_too_long_ && page_ > 1) {
      page_ = std::max(1, page_ / 8);
      from.clear();  // start over: the page size may not change within one list
      continue;
    }
    if (reply.status == 0) {
      return reply.error;
    }
    if (reply.status != 200) {
      return "GET " + path() + ": " + kubernetes::refusal_of(reply.status, reply.body);
    }
    bool const is_list = from.empty() ? slices.take_list(reply.body) : slices.take_page(reply.body);
    if (!is_list) {
      return "the answer is not a list of EndpointSlices";
    }
    from = slices.next_page();
  } while (is_too_long_ || !from.empty());
  return {};
}

SliceClient::Watched SliceClient::watch(HttpClient& client, Span const& span,
                                        kubernetes::SliceReader& slices,
                                        std::function<bool()> const& goes_on) const {
  auto const left =
      std::chrono::ceil<std::chrono::seconds>(span.until - TimePoint::clock::now()).count();
  Watched watched;
  WatchLines lines;
  HttpRequest request{.method = "GET", .path = path()};
  request.path += kubernetes::watch_suffix(request.path, slices.resource_version(),
                                           std::max<std::int64_t>(left, 1));
  std::string begin_of_all;  // has the message if the server refuses
  request.on_data = [&](std::string_view data) {
    begin_of_all += data.substr(0, kMostOfRefusal - std::min(kMostOfRefusal, begin_of_all.size()));
    bool has_line = false;
    watched.is_stale = !lines.add(data, [&](std::string_view line) {
      has_line = true;
      return slices.take_change(line);
    });
    bool const is_wanted = !has_line || goes_on();
    return is_wanted && !watched.is_stale;
  };
  watched.reply = ask(client, span.deadline, std::move(request));
  watched.reply.body = std::move(begin_of_all);
  return watched;
}

}  // namespace lastcall::discovery
