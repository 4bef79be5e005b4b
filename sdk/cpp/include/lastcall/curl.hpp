// Outgoing calls with libcurl that end when their request is cancelled, and carry its ids.
//
//   lastcall::CurlCalls calls;  // once a thread: it keeps connections
//
//   curl_slist* headers = lastcall::add_ids(nullptr, context);
//   curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
//   CURLcode result = calls.perform(easy, context);  // CURLE_ABORTED_BY_CALLBACK: it was cut
//   curl_slist_free_all(headers);
//
// This header alone: the program links libcurl, 7.68 or newer. A program that drives a
// curl_multi of its own takes AbortOnStop with curl_multi_wakeup() as these lines do.
//
// Thread rule: a CurlCalls is one thread's; the cancel may come from any. C++17. Source:
// docs/ipc.md, 'Across pods'.
#pragma once

#include <new>
#include <string>
#include <string_view>

#include <curl/curl.h>
#include <lastcall/outgoing.hpp>
#include <strings.h>

namespace lastcall {

/// Appends the headers of outgoing_headers() that the list does not have; returns the list, as
/// curl_slist_append() does. std::bad_alloc: no memory, and the list is as long as it was by then.
inline curl_slist* add_ids(curl_slist* list, RequestContext const& context) {
  for (auto const& [name, value] : outgoing_headers(context)) {
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
  /// std::bad_alloc: libcurl has no memory.
  CurlCalls() : multi_(curl_multi_init()) {
    if (multi_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  ~CurlCalls() { curl_multi_cleanup(multi_); }
  CurlCalls(CurlCalls const&) = delete;
  CurlCalls& operator=(CurlCalls const&) = delete;

  /// As curl_easy_perform(), until the context stops: then the connection is closed at once and
  /// the result is CURLE_ABORTED_BY_CALLBACK. A context that is stopped already makes no call.
  CURLcode perform(CURL* easy, RequestContext const& context) {
    if (context.is_stopped() || curl_multi_add_handle(multi_, easy) != CURLM_OK) {
      return context.is_stopped() ? CURLE_ABORTED_BY_CALLBACK : CURLE_FAILED_INIT;
    }
    CURLcode result = CURLE_ABORTED_BY_CALLBACK;
    {
      AbortOnStop const wakes(context, [this] { curl_multi_wakeup(multi_); });
      int running = 1;
      while (running != 0 && !context.is_stopped()) {
        if (curl_multi_perform(multi_, &running) != CURLM_OK ||
            (running != 0 && curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr) != CURLM_OK)) {
          result = CURLE_RECV_ERROR;
          break;
        }
      }
    }
    int left = 0;
    while (CURLMsg const* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE && message->easy_handle == easy) {
        result = message->data.result;
      }
    }
    curl_multi_remove_handle(multi_, easy);  // closes the connection of a call that is not done
    return result;
  }

 private:
  static constexpr int kPollMs = 1000;  // at most; libcurl's own timers come first

  CURLM* const multi_;
};

}  // namespace lastcall
