// One run of a check over TCP: lookup, connect, and the deadline that covers all of it.
//
// Invariants:
//  1. An attempt reports once; later completions of its operations are ignored. So a check may
//     start its next attempt, or be destroyed, inside the report.
//  2. Numeric addresses and `localhost` are never looked up. Other names go to Asio's resolver,
//     which makes a thread for them; while a lookup hangs there, no second one is queued.
//  3. If an attempt fails because we lack a resource, such as a descriptor or a thread, the engine
//     was not asked: that is not a failure of the engine.
//  4. A connection to itself counts as refused. (The kernel may pick a dead engine's port as the
//     source port, and TCP then connects the socket to itself.)
//
// Thread rule: the loop thread. Source: connect(2), socket(2), tcp(7), RFC 9293 3.5 (simultaneous
// open), getaddrinfo(3).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "probes/checks/check.hpp"

namespace lastcall::probes {

struct Target {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

class ConnectAttempt : public std::enable_shared_from_this<ConnectAttempt> {
 public:
  /// `lookup_hangs` is shared by the attempts of one check.
  ConnectAttempt(boost::asio::any_io_executor const& executor, Target const& target,
                 std::shared_ptr<bool> lookup_hangs, CheckDone done);
  virtual ~ConnectAttempt() = default;

  void begin(Duration timeout);
  /// Ends the attempt without a report.
  void abandon();

 protected:
  /// Called when the socket is connected: reports, or continues with the next step.
  virtual void on_connected() = 0;
  void report(CheckOutcome outcome);
  bool is_over() const { return !done_; }

  boost::asio::ip::tcp::socket socket_;

 private:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  bool add_known_addresses();
  void look_up();
  void ask_the_resolver();
  /// As start() promises, a report never comes within the call that caused it.
  void report_later(CheckOutcome outcome);
  void connect_next();
  void on_connect(boost::system::error_code error, Endpoint const& to);
  void close();

  Target const& target_;
  std::shared_ptr<bool> lookup_hangs_;
  CheckDone done_;  // empty once the attempt is over
  std::chrono::steady_clock::time_point started_;
  boost::asio::steady_timer timer_;
  boost::asio::ip::tcp::resolver resolver_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_ = 0;
  std::string refused_by_;
  std::string last_error_;
  bool is_short_ = false;  // the last error was that we lack a resource
};

/// A check that makes a new attempt for each run. The attempts may refer to what `make` holds: they
/// are over before it is destroyed.
class AttemptCheck final : public Check {
 public:
  using Make = std::function<std::shared_ptr<ConnectAttempt>(CheckDone done)>;
  explicit AttemptCheck(Make make) : make_(std::move(make)) {}
  ~AttemptCheck() override { AttemptCheck::cancel(); }

  void start(Duration timeout, CheckDone done) override;
  void cancel() override;

 private:
  Make make_;
  std::shared_ptr<ConnectAttempt> attempt_;
};

}  // namespace lastcall::probes
