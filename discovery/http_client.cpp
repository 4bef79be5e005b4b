#include "discovery/http_client.hpp"

#include <algorithm>

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/text.hpp"
#include "discovery/tls_files.hpp"

namespace lastcall::discovery {

namespace {

/// "connection failed" where the library says "Connection".
std::string describe(httplib::Error error, HttpTls const& tls) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
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
      return "cannot use the authorities: " + why_unusable({tls.ca_file}, "no certificate in PEM");
    case httplib::Error::SSLServerVerification:
      return "the server's certificate is not trusted";
    case httplib::Error::Success:
    case httplib::Error::Unknown:
    case httplib::Error::ExceedRedirectCount:
    case httplib::Error::UnsupportedMultipartBoundaryChars:
    case httplib::Error::Compression:
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

HttpServer server_at(std::string const& url) {
  config::Url const parsed = config::parse_url(url).value_or(config::Url{});
  return {.tls = parsed.scheme == "https",
          .host = parsed.address.host,
          .port = parsed.address.port,
          .path = parsed.path == "/" ? "" : parsed.path};
}

std::string to_text(HttpServer const& server) {
  bool const is_v6 = server.host.find(':') != std::string::npos;
  return (server.tls ? "https://" : "http://") + (is_v6 ? "[" + server.host + "]" : server.host) +
         ":" + std::to_string(server.port) + server.path.substr(0, server.path.find('?'));
}

HttpClient::HttpClient(HttpTls tls) : tls_(std::move(tls)) {}
HttpClient::~HttpClient() {
  disconnect();
}

void HttpClient::connect(HttpServer const& server, std::string const& address) {
  if (server.tls) {
    auto secure = std::make_unique<httplib::SSLClient>(server.host, server.port, tls_.cert_file,
                                                       tls_.key_file);
    if (!tls_.ca_file.empty()) {
      secure->set_ca_cert_path(tls_.ca_file);
    }
    secure->enable_server_certificate_verification(tls_.is_verified);
    connection_ = std::move(secure);
  } else {
    connection_ = std::make_unique<httplib::ClientImpl>(server.host, server.port);
  }
  connection_->set_hostname_addr_map({{server.host, address}});
  connection_->set_keep_alive(true);
  connection_->set_tcp_nodelay(true);  // head and body are two writes: 40 ms each without it
  connection_->set_url_encode(false);
  connection_->set_socket_options([this](int socket) { watch(socket); });
  server_ = server;
}

void HttpClient::disconnect() {
  connection_.reset();
  watch(-1);
}

/// The library's socket under a descriptor of our own: theirs may be closed, and its number be
/// another file's, in the moment in which it is interrupted.
void HttpClient::watch(int socket) {
  std::lock_guard const lock(mutex_);
  if (socket_ >= 0) {
    ::close(socket_);
  }
  socket_ = socket >= 0 ? ::fcntl(socket, F_DUPFD_CLOEXEC, 0) : -1;
  if (interrupted_ && socket_ >= 0) {
    ::shutdown(socket_, SHUT_RDWR);  // connecting it fails then
  }
}

HttpReply HttpClient::send(HttpServer const& server, HttpRequest const& request,
                           TimePoint deadline) {
  if (connection_ && server == server_) {
    // The library itself replaces a connection that it finds closed.
    auto const now = TimePoint::clock::now();
    auto reply = exchange(server, request, {now + (deadline - now) / 2, deadline});
    if (reply.status != 0) {
      return reply;
    }
    disconnect();
    if (!reply.may_repeat() || interrupted_ || TimePoint::clock::now() >= deadline) {
      return reply;
    }
  }
  return send_anew(server, request, deadline);
}

HttpReply HttpClient::send_anew(HttpServer const& server, HttpRequest const& request,
                                TimePoint deadline) {
  disconnect();
  auto const found = lookup_.find(server.host, deadline, interrupted_);
  HttpReply reply{.error = to_text(server) + ": " + found.error};
  for (std::size_t i = 0; i < found.addresses.size(); ++i) {
    auto const now = TimePoint::clock::now();
    if (i != 0 && (interrupted_ || now >= deadline)) {
      break;
    }
    connect(server, found.addresses[i]);
    auto const share = (deadline - now) / static_cast<std::int64_t>(found.addresses.size() - i);
    reply = exchange(server, request, {now + share, deadline});
    if (reply.status != 0) {
      return reply;
    }
    disconnect();
    if (!reply.may_repeat()) {
      break;
    }
  }
  return reply;
}

HttpReply HttpClient::exchange(HttpServer const& server, HttpRequest const& request,
                               Limits const& limits) {
  using std::chrono::microseconds;
  if (!connection_->is_valid()) {
    return {.error = to_text(server) + ": cannot use the client's certificate: " +
                     why_unusable({tls_.cert_file, tls_.key_file},
                                  "no certificate in PEM with the key that belongs to it")};
  }
  auto const now = TimePoint::clock::now();
  auto const deadline = limits.end;
  auto const left = std::chrono::duration_cast<microseconds>(deadline - now);
  if (interrupted_ || left.count() <= 0) {
    return {.error = to_text(server) + ": no time left"};
  }
  connection_->set_connection_timeout(
      std::chrono::duration_cast<microseconds>(limits.connected - now));
  connection_->set_read_timeout(left);
  connection_->set_write_timeout(left);
  auto made = to_library(server, request);
  HttpReply reply;
  bool has_enough = false;
  made.content_receiver = [&](char const* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (interrupted_ || TimePoint::clock::now() >= deadline) {
      return false;
    }
    if (request.on_data) {
      reply.was_begun = true;
      has_enough = !request.on_data({data, size});
      return !has_enough;
    }
    reply.body.append(data, size);
    return reply.body.size() <= kLongestAnswer;
  };
  int status = 0;
  made.response_handler = [&status](httplib::Response const& head) {
    status = head.status;
    return true;
  };
  httplib::Result const result = connection_->send(made);
  if (has_enough) {
    disconnect();
  }
  if (result || has_enough) {
    reply.status = status;
    return reply;
  }
  if (reply.body.size() > kLongestAnswer) {
    return {.error = to_text(server) + ": an answer of more than 4 MiB", .is_too_long = true};
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
                                         : describe(result.error(), tls_);
  return {.error = to_text(server) + ": " + why, .was_begun = reply.was_begun};
}

void HttpClient::interrupt() {
  {
    std::lock_guard const lock(mutex_);
    interrupted_ = true;
    if (socket_ >= 0) {
      ::shutdown(socket_, SHUT_RDWR);
    }
  }
  lookup_.wake();
}

}  // namespace lastcall::discovery
