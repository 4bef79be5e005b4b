// The ids of the live requests of all proxies; each id belongs to one request.
//
// Thread rule: any thread.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "ingress/request_id.hpp"

namespace lastcall::ingress {

class LiveIds {
 public:
  /// Returns the id, with a suffix if another request has it. `keep`: the id is reserved until
  /// release().
  std::string claim(std::string_view wanted, bool keep);
  void release(std::span<std::string const> ids);

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> taken_;
  RequestIds suffixes_;
};

}  // namespace lastcall::ingress
