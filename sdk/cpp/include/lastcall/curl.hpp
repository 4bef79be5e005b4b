// Outgoing calls with libcurl that end when their request is cancelled, and carry its ids.
//
//   lastcall::CurlCalls calls;  // once a thread: it keeps connections
//
//   lastcall::StopChannel channel;  // of this call
//   curl_slist* headers = lastcall::add_ids(nullptr, context, &channel);
//   curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
//   CURLcode result = calls.perform(easy, context, &channel);  // CURLE_ABORTED_BY_CALLBACK: cut
//   curl_slist_free_all(headers);
//
// Without a channel, a stop closes the connection, which is a kill on the other side.
//
// This header is enough; the program links libcurl, 7.68 or newer. A program that drives a
// curl_multi of its own can use AbortOnStop with curl_multi_wakeup(), as CurlCalls does.
//
// Thread rule: a CurlCalls belongs to one thread; the cancel may come from any thread. C++17.
// Source: docs/ipc.md, 'Across pods'.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <lastcall/outgoing.hpp>
#include <lastcall/stop_channel.hpp>
#include <strings.h>

namespace lastcall {

/// Appends the headers of outgoing_headers() that the list does not contain, and the channel's
/// header; returns the list, as curl_slist_append() does. Throws std::bad_alloc if there is no
/// memory; the list then contains the headers appended so far.
inline curl_slist* add_ids(curl_slist* list, RequestContext const& context,
                           StopChannel const* channel = nullptr) {
  std::vector<std::pair<std::string, std::string>> headers = outgoing_headers(context);
  if (channel != nullptr) {
    headers.push_back(channel->header());
  }
  for (auto const& [name, value] : headers) {
    bool is_there = false;
    for (curl_slist const* each = list; each != nullptr; each = each->next) {
      is_there = is_there ||
                 (::strncasecmp(each->data, name.c_str(), name.size()) == 0 &&
                  std::string_view(":;").find(each->data[name.size()]) != std::string_view::npos);
    }
    if (!is_there) {
      curl_slist* const longer = curl_slist_append(list, (name + ": " + value).c_str());
      if (longer == nullptr) {
        throw std::bad_alloc();
      }
      list = longer;
    }
  }
  return list;
}

class CurlCalls {
 public:
  /// `prepare` adds the settings that a stop needs to reach the server of its call, such as a
  /// proxy, credentials, or an authority. Throws std::bad_alloc if libcurl has no memory.
  explicit CurlCalls(std::function<void(CURL*)> prepare = nullptr)
      : prepare_(std::move(prepare)), multi_(curl_multi_init()) {
    if (multi_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  ~CurlCalls() { curl_multi_cleanup(multi_); }
  CurlCalls(CurlCalls const&) = delete;
  CurlCalls& operator=(CurlCalls const&) = delete;

  /// Works like curl_easy_perform() until the context stops: then the connection is closed at once
  /// and the result is CURLE_ABORTED_BY_CALLBACK. If the other side accepts stops through the
  /// channel, the connection is closed only at a kill; after a stop, the rest of the answer is
  /// delivered before that result is returned. If the context is stopped already, no call is made.
  CURLcode perform(CURL* easy, RequestContext const& context,
                   StopChannel const* channel = nullptr) {
    if (context.is_stopped() || curl_multi_add_handle(multi_, easy) != CURLM_OK) {
      return context.is_stopped() ? CURLE_ABORTED_BY_CALLBACK : CURLE_FAILED_INIT;
    }
    Call call{easy, context, channel};
    {
      auto const wake = [this] { curl_multi_wakeup(multi_); };
      AbortOnStop const stop_wakes(context, wake);
      AbortOnKill const kill_wakes(context, wake);
      while (!call.is_done && !is_cut(call)) {
        int running = 0;
        if (curl_multi_perform(multi_, &running) != CURLM_OK) {
          call.result = CURLE_RECV_ERROR;
          break;
        }
        read_news(call);
        if (!call.is_done && !call.stop_was_refused &&
            curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr) != CURLM_OK) {
          call.result = CURLE_RECV_ERROR;
          break;
        }
      }
    }
    if (call.stop != nullptr) {
      curl_multi_remove_handle(multi_, call.stop.get());
    }
    curl_multi_remove_handle(multi_, easy);  // closes the connection of a call that is not done
    bool const was_stopped = channel != nullptr && context.is_stopped();  // returned as cut
    return was_stopped ? CURLE_ABORTED_BY_CALLBACK : call.result;
  }

 private:
  static constexpr int kPollMs = 1000;         // at most; libcurl's own timers may be earlier
  static constexpr long kStopWithinMs = 1000;  // time for the other side to accept a stop

  struct Cleanup {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct Call {
    CURL* easy;
    RequestContext const& context;
    StopChannel const* channel;
    CURLcode result = CURLE_ABORTED_BY_CALLBACK;
    bool is_done = false;
    std::unique_ptr<CURL, Cleanup> stop{};  // the DELETE; set once it was sent
    bool stop_was_refused = false;
  };

  /// Begins to send a stop if that is due; returns whether the call must be cut.
  bool is_cut(Call& call) {
    if (!call.context.is_stopped()) {
      return false;
    }
    if (call.channel == nullptr || call.context.is_killed() || call.stop_was_refused) {
      return true;
    }
    return call.stop == nullptr && !send_stop(call);
  }

  bool send_stop(Call& call) {
    call.stop.reset(curl_easy_init());
    return call.stop != nullptr && aim(call.stop.get(), call.easy, *call.channel) &&
           curl_multi_add_handle(multi_, call.stop.get()) == CURLM_OK;
  }

  void read_news(Call& call) {
    int left = 0;
    while (CURLMsg const* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) {
        continue;
      }
      if (message->easy_handle == call.easy) {
        call.result = message->data.result;
        call.is_done = true;
      } else {
        long status = 0;
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        call.stop_was_refused = message->data.result != CURLE_OK || status != kStopTaken;
      }
    }
  }

  static std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
    return size * count;
  }

  /// Sets the URL of the channel at the server of the call.
  bool aim(CURL* stop, CURL* easy, StopChannel const& channel) const {
    char const* url = nullptr;
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    CURLU* const place = curl_url();
    char* target = nullptr;
    if (url != nullptr && curl_url_set(place, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_set(place, CURLUPART_PATH, channel.path().c_str(), 0) == CURLUE_OK &&
        curl_url_set(place, CURLUPART_QUERY, nullptr, 0) == CURLUE_OK &&
        curl_url_set(place, CURLUPART_FRAGMENT, nullptr, 0) == CURLUE_OK) {
      curl_url_get(place, CURLUPART_URL, &target, 0);
    }
    curl_url_cleanup(place);
    if (target == nullptr) {
      return false;
    }
    if (prepare_) {
      prepare_(stop);
    }
    curl_easy_setopt(stop, CURLOPT_URL, target);
    curl_free(target);
    curl_easy_setopt(stop, CURLOPT_CUSTOMREQUEST, "DELETE");
    curl_easy_setopt(stop, CURLOPT_TIMEOUT_MS, kStopWithinMs);
    curl_easy_setopt(stop, CURLOPT_WRITEFUNCTION, drop);
    return true;
  }

  std::function<void(CURL*)> const prepare_;
  CURLM* const multi_;
};

}  // namespace lastcall
