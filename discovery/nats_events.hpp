// Publishes small messages on one NATS subject: news, which nothing waits for.
//
// Invariants:
//  1. publish() never blocks: all talk with the library is on a Worker. While there is no server,
//     messages are kept up to a bound, then dropped.
//  2. The connection is made with the first message and again after each loss, for ever: by the
//     library where the server went away, and from the beginning, with secrets that are read
//     again, where the server refused them. Messages that may not have been sent then are sent
//     again.
//  3. disconnect() sends kept messages, if a server is there, and closes. The next message opens
//     again.
//
// Thread rule: everything on the loop thread, callbacks included. Source: NATS' core protocol, as
// libnats speaks it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/http_client.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

struct NatsSettings {
  std::string url;  // nats:// or tls://
  std::string subject;
  std::string client_name;
  std::string user;           // empty: none
  std::string password_file;  // empty: `password`
  std::string password;
  std::string credentials_file;  // empty: none
  HttpTls tls;
};

class NatsEvents {
 public:
  /// Called for each message, and about each second while there is no server: empty if there is
  /// one, to which it was handed over, else what is wrong.
  using OnResult = std::function<void(std::string const& error)>;

  NatsEvents(boost::asio::any_io_executor executor, NatsSettings settings, OnResult on_result);
  ~NatsEvents();
  NatsEvents(NatsEvents const&) = delete;
  NatsEvents& operator=(NatsEvents const&) = delete;

  void publish(std::string message);
  void disconnect(TimePoint deadline, RegistryDone done);

 private:
  class Connection;
  struct Waiting;
  void run(std::function<std::string(Connection&)> job, std::function<void(std::string)> then);
  void ended(std::string const& error);

  OnResult on_result_;
  std::shared_ptr<Connection> connection_;  // shared with jobs, which may outlive this
  std::shared_ptr<Waiting> waiting_;
};

}  // namespace lastcall::discovery
