// An attempt that sends one request and reads its answer with the relay's parser.
//
// Rules:
//  1. An answer that the ingress would refuse is none here either: a check that passes means that
//     requests can be relayed.
//  2. An answer is over with its end, or where `piece` ends it. Its end may be that of the
//     connection only where its framing allows it.
//
// Thread rule: the loop thread. Source: RFC 9112; relay/response_reader.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/checks/connect_attempt.hpp"
#include "probes/checks/http_url.hpp"
#include "relay/response_reader.hpp"

namespace lastcall::probes {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Bytes of an answer's head; more is a failure.
inline constexpr std::size_t kMaxHeader = std::size_t{16} * 1024;

/// A GET without a body, or a POST of `json`. `headers` replace those of the same name that every
/// request has.
std::string get_request(HttpUrl const& url, Headers const& headers);
std::string post_request(HttpUrl const& url, Headers const& headers, std::string_view json);

class HttpAttempt : public ConnectAttempt {
 public:
  HttpAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url, std::string request,
              std::shared_ptr<bool> lookup_hangs, CheckDone done);

 protected:
  enum class Then { go_on, stop };

  /// The request is on its way.
  virtual void sent() {}
  /// The final head has come. After Then::stop a report is due.
  virtual Then head(unsigned status, std::string_view content_type) = 0;
  /// Some of the body.
  virtual Then piece(std::string_view bytes) = 0;
  virtual void complete() = 0;
  /// The head announces a body of more than `most` bytes: it need not be read to be refused.
  bool announces_more_than(std::uint64_t most) const { return response_.framing().length > most; }
  void fail(std::string why);

 private:
  void on_connected() final;
  void read();
  void ended(std::string_view why);
  bool take(std::span<char> bytes);
  bool take_head(std::span<char>& bytes);
  void malformed() { fail("cannot read the response: it is not valid HTTP/1.1"); }

  std::string const request_;
  relay::ResponseReader response_;
  std::size_t head_size_ = 0;
  std::array<char, 8 * 1024> buffer_{};
};

}  // namespace lastcall::probes
