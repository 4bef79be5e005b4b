// An engine's port that answers, delays, or lies, as a test asks it to.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace lastcall::probes::test {

class FakeEngine {
 public:
  enum class Then { close, keep_open, reset };

  /// Listens on a free port of 127.0.0.1, or of ::1, or on `port`.
  explicit FakeEngine(boost::asio::io_context& io, bool ipv6 = false, std::uint16_t port = 0);

  /// Sends `response` once a request head was read, then ...
  void answer(std::string response, Then then = Then::close);
  /// Accepts, reads, and never sends anything.
  void never_answer();
  /// The same for each POST from here on.
  void hold_posts() { holds_posts_ = true; }
  /// Closes the port, and what is connected.
  void die();

  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return connections_; }
  std::size_t open_now() const { return open_.size(); }
  std::string const& last_request() const { return last_request_; }

 private:
  struct Client;
  void accept();
  void serve(std::shared_ptr<Client> const& client);
  void respond(std::shared_ptr<Client> const& client);
  void wait_for_close(std::shared_ptr<Client> const& client);

  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  std::string response_;
  Then then_ = Then::close;
  bool silent_ = false;
  bool holds_posts_ = false;
  std::size_t connections_ = 0;
  std::string last_request_;
  std::list<std::shared_ptr<Client>> open_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that come later
};

std::string http_response(int status, std::string const& body = {});

}  // namespace lastcall::probes::test
