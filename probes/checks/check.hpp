// One engine check, and what it found.
//
// Invariants:
//  1. start() returns at once and never blocks the loop; `done` is called exactly once, later, from
//     the loop. If cancel() comes first, `done` is never called.
//  2. The timeout covers everything: name lookup, connect, request, the whole response.
//  3. A check runs once at a time; start() while it runs is a programming error.
//  4. Nothing here judges the engine: outcomes go to the core, which knows thresholds and progress.
//
// Thread rule: everything on the loop thread. Source: specification, 'Checks'.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

namespace lastcall::probes {

using Duration = std::chrono::milliseconds;

enum class CheckResult : std::uint8_t {
  passed,
  failed_definite,  // proof that the engine does not work: refused, or a dead status
  failed_unclear,   // an answer that proves neither (HTTP 404, garbage, a reset)
  timed_out,        // proves slowness only
  not_asked,        // we lack a resource to ask with (descriptor, port, process); proves nothing
};

constexpr std::string_view name(CheckResult result) {
  constexpr std::array<std::string_view, 5> kNames{"passed", "failed", "unclear", "timed_out",
                                                   "not_asked"};
  return kNames[static_cast<std::size_t>(result)];
}

struct CheckOutcome {
  CheckResult result = CheckResult::timed_out;
  int status = 0;      // HTTP status, exit code; 0 if there is none
  std::string detail;  // in words; empty when passed
  Duration latency{};
};

using CheckDone = std::function<void(CheckOutcome)>;

class Check {
 public:
  Check() = default;
  virtual ~Check() = default;  // cancels
  Check(Check const&) = delete;
  Check& operator=(Check const&) = delete;

  virtual void start(Duration timeout, CheckDone done) = 0;
  virtual void cancel() = 0;
};

/// A GET over HTTP/1.1 with a connection of its own. 2xx and 3xx pass, `dead_statuses` and a
/// refused connection are definite failures, any other answer is an unclear failure.
struct HttpCheckSettings {
  std::string url;  // http://host[:port][/path]; host is a name, an IPv4 or an [IPv6] address
  std::vector<std::uint32_t> dead_statuses{500, 503};
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Passes when a connection is accepted.
struct TcpCheckSettings {
  std::string host;
  std::uint16_t port = 0;
};

/// Either the check, or the reason why the settings are not valid for one.
using CheckOrError = std::variant<std::unique_ptr<Check>, std::string>;

CheckOrError make_http_check(boost::asio::any_io_executor executor, HttpCheckSettings settings);
std::unique_ptr<Check> make_tcp_check(boost::asio::any_io_executor executor,
                                      TcpCheckSettings settings);

/// A check whose answer comes from elsewhere: from the SDK over the IPC, or from a child process
/// that the runtime owns. `ask` sends the question; it returns an empty string, or why it could
/// not.
class AskedCheck final : public Check {
 public:
  using Ask = std::function<std::string()>;
  AskedCheck(boost::asio::any_io_executor executor, Ask ask);
  ~AskedCheck() override;

  void start(Duration timeout, CheckDone done) override;
  void cancel() override;

  /// Takes the answer; the latency is filled in. It is ignored while no question is open. It must
  /// not be called from inside `ask`.
  void answered(CheckOutcome outcome);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::probes
