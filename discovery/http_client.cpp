#include "discovery/http_client.hpp"

#include <algorithm>

#include <httplib.h>

namespace lastcall::discovery {

namespace {

/// "connection failed" where the library says "Connection".
std::string describe(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::BindIPAddress:
      return "no connection";
    case httplib::Error::Read:
      return "no answer";
    case httplib::Error::Write:
      return "the request could not be sent";
    case httplib::Error::Canceled:
      return "the answer was cut off";
    case httplib::Error::SSLConnection:
      return "no TLS connection";
    case httplib::Error::SSLLoadingCerts:
      return "the certificate authority's file cannot be read";
    case httplib::Error::SSLServerVerification:
      return "the server's certificate is not trusted";
    case httplib::Error::Success:
    case httplib::Error::Unknown:
    case httplib::Error::ExceedRedirectCount:
    case httplib::Error::UnsupportedMultipartBoundaryChars:
    case httplib::Error::Compression:
    case httplib::Error::ConnectionTimeout:
      break;
  }
  return "the request failed";
}

httplib::Request to_library(HttpServer const& server, HttpRequest const& request) {
  httplib::Request made;
  made.method = request.method;
  made.path = server.path + request.path;
  for (auto const& [name, value] : request.headers) {
    made.headers.emplace(name, value);
  }
  if (!request.body.empty() && made.headers.find("Content-Type") == made.headers.end()) {
    made.headers.emplace("Content-Type", "application/json");
  }
  made.body = request.body;
  return made;
}

}  // namespace

std::string to_text(HttpServer const& server) {
  bool const is_v6 = server.host.find(':') != std::string::npos;
  return (server.tls ? "https://" : "http://") + (is_v6 ? "[" + server.host + "]" : server.host) +
         ":" + std::to_string(server.port) + server.path;
}

HttpClient::HttpClient(HttpTls tls) : tls_(std::move(tls)) {}
HttpClient::~HttpClient() = default;

HttpClient::Connection HttpClient::connect(HttpServer const& server) {
  if (connection_ && server == server_) {
    return connection_;
  }
  Connection made;
  if (server.tls) {
    auto secure = std::make_shared<httplib::SSLClient>(server.host, server.port, tls_.cert_file,
                                                       tls_.key_file);
    if (!tls_.ca_file.empty()) {
      secure->set_ca_cert_path(tls_.ca_file);
    }
    made = std::move(secure);
  } else {
    made = std::make_shared<httplib::ClientImpl>(server.host, server.port);
  }
  made->set_keep_alive(true);
  made->set_tcp_nodelay(true);  // head and body are two writes: 40 ms each without it
  made->set_url_encode(false);
  std::lock_guard const lock(mutex_);
  server_ = server;
  connection_ = made;
  return made;
}

void HttpClient::disconnect() {
  Connection last;
  std::lock_guard const lock(mutex_);
  last.swap(connection_);
}

HttpReply HttpClient::send(HttpServer const& server, HttpRequest const& request,
                           TimePoint deadline) {
  bool const is_kept = connection_ != nullptr && server == server_;
  HttpReply reply;
  for (bool again = is_kept;; again = false) {
    auto const connection = connect(server);
    if (!connection->is_valid()) {
      reply = {0, {}, to_text(server) + ": the client's certificate or key cannot be read"};
    } else {
      reply = exchange(*connection, server, request, deadline);
    }
    if (reply.status != 0) {
      return reply;
    }
    disconnect();
    if (!again || interrupted_ || TimePoint::clock::now() >= deadline) {
      return reply;
    }
  }
}

HttpReply HttpClient::exchange(httplib::ClientImpl& connection, HttpServer const& server,
                               HttpRequest const& request, TimePoint deadline) {
  auto const left =
      std::chrono::duration_cast<std::chrono::microseconds>(deadline - TimePoint::clock::now());
  if (interrupted_ || left.count() <= 0) {
    return {0, {}, to_text(server) + ": no time left"};
  }
  connection.set_connection_timeout(left);
  connection.set_read_timeout(left);
  connection.set_write_timeout(left);
  auto made = to_library(server, request);
  HttpReply reply;
  made.content_receiver = [&](char const* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (interrupted_ || TimePoint::clock::now() >= deadline) {
      return false;
    }
    if (request.on_data) {
      return request.on_data({data, size});
    }
    reply.body.append(data, size);
    return reply.body.size() <= kLongestAnswer;
  };
  int status = 0;
  made.response_handler = [&status](httplib::Response const& head) {
    status = head.status;
    return true;
  };
  httplib::Result const result = connection.send(made);
  if (result) {
    reply.status = result->status;
    return reply;
  }
  // The library counts its waits in whole milliseconds: one may end just before the deadline.
  constexpr std::chrono::milliseconds kRounding{2};
  bool const is_late = TimePoint::clock::now() + kRounding >= deadline;
  if (!interrupted_ && !is_late && status >= 400) {
    // The library gives up at trailers, with which etcd ends its refusals. What it says is there.
    disconnect();
    reply.status = status;
    return reply;
  }
  // The loop interrupts at the deadline too: that is no news.
  std::string const why = is_late
                              ? "no answer within " + std::to_string(left.count() / 1000) + " ms"
                          : interrupted_ ? "interrupted"
                                         : describe(result.error());
  return {0, {}, to_text(server) + ": " + why};
}

void HttpClient::interrupt() {
  interrupted_ = true;
  Connection connection;
  {
    std::lock_guard const lock(mutex_);
    connection = connection_;
  }
  if (connection) {
    connection->stop();
  }
}

}  // namespace lastcall::discovery
