// Publishes small messages on one NATS subject. They are notifications, and nothing waits for them.
//
// Invariants:
//  1. publish() never blocks: all calls of the library are made on a JobThread. While there is no
//     server, messages are kept up to a bound, then dropped.
//  2. The connection is made with the first message and again after each loss, without end. If the
//     server went away, the library reconnects; if the server refused the credentials, or files
//     have changed meanwhile (a certificate was renewed), a new connection is made with files that
//     are read again. Messages that may not have been sent by then are sent again. Messages that
//     the server does not permit are lost; each further one tries a new connection.
//  3. disconnect() sends kept messages if there is a server, and closes. The next message opens a
//     connection again.
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
  std::string password_file;  // empty: use `password`
  std::string password;
  std::string credentials_file;  // empty: none
  HttpTls tls;
};

class NatsEvents {
 public:
  /// Called for each message, and about every second while there is no server. `error` is empty if
  /// the message was handed to a connected server; otherwise it states what is wrong.
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
