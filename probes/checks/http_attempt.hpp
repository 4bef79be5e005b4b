// An attempt that sends one request and reads its answer with the relay's parser.
//
// Rules:
//  1. An answer that the ingress would refuse is refused here, too: a check that passes means that
//     requests can be relayed.
//  2. An answer is over when it is complete or when `piece` stops it. The end of the connection may
//     end an answer only if the answer's framing allows it.
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

/// The most bytes of an answer's head; more is a failure.
inline constexpr std::size_t kMaxHeader = std::size_t{16} * 1024;

/// A GET without a body, or a POST of `json`. `headers` replace the usual headers of the same name.
std::string get_request(HttpUrl const& url, Headers const& headers);
std::string post_request(HttpUrl const& url, Headers const& headers, std::string_view json);

class HttpAttempt : public ConnectAttempt {
 public:
  HttpAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url, std::string request,
              std::shared_ptr<bool> lookup_hangs, CheckDone done);

 protected:
  enum class Then { go_on, stop };

  /// The request was written.
  virtual void sent() {}
  /// The final head has arrived. An override that returns Then::stop has to report.
  virtual Then head(unsigned status, std::string_view content_type) = 0;
  /// A piece of the body has arrived.
  virtual Then piece(std::string_view bytes) = 0;
  virtual void complete() = 0;
  /// Whether the head announces a body of more than `most` bytes, which is refused without reading.
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
