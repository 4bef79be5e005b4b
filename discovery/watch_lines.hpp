// Splits the answer to a watch, which arrives in pieces, into its lines.
//
// Invariant: it keeps no more than the start of one line, of at most HttpClient::kLongestAnswer.
// One owner. Source: the JSON gateway of etcd; Kubernetes' watches, a document on each line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "discovery/http_client.hpp"

namespace lastcall::discovery {

class WatchLines {
 public:
  /// Calls `take` with each complete line until it returns false. Returns false then, and if a line
  /// is too long.
  template <typename Take>
  bool add(std::string_view data, Take const& take) {
    text_ += data;
    bool goes_on = true;
    std::size_t begin = 0;
    for (auto end = text_.find('\n'); goes_on && end != std::string::npos;
         end = text_.find('\n', begin)) {
      goes_on = take(std::string_view(text_).substr(begin, end - begin));
      begin = end + 1;
    }
    text_.erase(0, begin);
    return goes_on && text_.size() <= HttpClient::kLongestAnswer;
  }

 private:
  std::string text_;
};

}  // namespace lastcall::discovery
