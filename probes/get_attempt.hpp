// An attempt that asks for a document by GET; what is made of the answer is its user's.
//
// Thread rule: the loop thread. Source: RFC 9112.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probes/connect_attempt.hpp"
#include "probes/http_url.hpp"

namespace lastcall::probes {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Bytes of an answer's head; more is a failure.
inline constexpr std::uint32_t kMaxHeader = 16 * 1024;

class GetAttempt : public ConnectAttempt {
 public:
  /// `headers` come last, and replace those of the same name that every request has.
  GetAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url,
             Headers const& headers, std::shared_ptr<bool> lookup_hangs, CheckDone done);
  ~GetAttempt() override;

 protected:
  /// The request is written: read from socket_, report.
  virtual void read_response() = 0;
  void fail(std::string why);

 private:
  struct Request;

  void on_connected() final;

  std::unique_ptr<Request> request_;
};

}  // namespace lastcall::probes
