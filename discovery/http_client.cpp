#include "discovery/http_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <httplib.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/schema.hpp"
#include "config/text.hpp"
#include "discovery/answer_filter.hpp"
#include "discovery/tls_files.hpp"

namespace lastcall::discovery {

namespace {

/// The longest body that is read without being needed, so that the connection can be used again.
constexpr std::size_t kMostUnneeded = std::size_t{64} * 1024;
/// The longest time that it is waited for.
constexpr std::chrono::milliseconds kUnneeded{100};

/// The library's error in words: "connection failed" for its `Connection`.
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

/// The stream that the library uses as its connection: it writes directly, and reads only what
/// AnswerFilter lets through of the answer.
class HttpClient::Stream final : public httplib::Stream {
 public:
  Stream(int socket, SSL* session, Talk& talk)
      : socket_(socket), session_(session), talk_(talk), answer_(talk.is_head) {}
  ~Stream() override {
    talk_.keeps_alive = answer_.keeps_alive();
    talk_.is_malformed = answer_.is_malformed();
    talk_.retry_after = answer_.retry_after();
  }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;

  bool is_readable() const override { return !answer_.ready().empty() || wait(POLLIN); }
  bool is_writable() const override { return wait(POLLOUT); }

  ssize_t read(char* to, std::size_t size) override {
    while (answer_.ready().empty()) {
      if (answer_.is_whole()) {
        return 0;
      }
      if (answer_.is_malformed() || has_ended_ || !receive()) {
        return -1;
      }
    }
    std::string_view const ready = answer_.ready().substr(0, size);
    std::memcpy(to, ready.data(), ready.size());
    answer_.drop(ready.size());
    return static_cast<ssize_t>(ready.size());
  }

  ssize_t write(char const* from, std::size_t size) override {
    if (!wait(POLLOUT)) {
      return -1;
    }
    return session_ == nullptr ? ::send(socket_, from, size, MSG_NOSIGNAL)
                               : SSL_write(session_, from, bounded(size));
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  static int bounded(std::size_t size) {
    constexpr std::size_t kMost = std::size_t{1} << 20U;
    return static_cast<int>(std::min(size, kMost));
  }

  bool wait(short events) const {
    if (events == POLLIN && session_ != nullptr && SSL_pending(session_) > 0) {
      return true;
    }
    while (true) {
      auto const left =
          std::chrono::ceil<std::chrono::milliseconds>(talk_.deadline - TimePoint::clock::now());
      pollfd one{.fd = socket_, .events = events, .revents = 0};
      int const ready = left.count() > 0 ? ::poll(&one, 1, static_cast<int>(left.count())) : 0;
      if (ready >= 0 || errno != EINTR) {
        return ready > 0;
      }
    }
  }

  /// False if nothing more will arrive in time.
  bool receive() {
    std::array<char, 16'384> bytes;
    if (!wait(POLLIN)) {
      return false;
    }
    ssize_t count = 0;
    do {
      count = session_ == nullptr ? ::recv(socket_, bytes.data(), bytes.size(), 0)
                                  : SSL_read(session_, bytes.data(), bounded(bytes.size()));
    } while (count < 0 && session_ == nullptr && errno == EINTR);
    if (count > 0) {
      answer_.take(std::span(bytes).first(static_cast<std::size_t>(count)));
      return true;
    }
    if (session_ != nullptr) {
      int const why = SSL_get_error(session_, static_cast<int>(count));
      if (why == SSL_ERROR_WANT_READ) {
        return true;
      }
      has_ended_ = why == SSL_ERROR_ZERO_RETURN;
    } else {
      has_ended_ = count == 0;
    }
    if (has_ended_) {
      answer_.end();
    }
    return has_ended_;
  }

  int const socket_;
  SSL* const session_;
  Talk& talk_;
  AnswerFilter answer_;
  bool has_ended_ = false;
};

/// A client of the library that reads its answers through Stream. It overrides functions that the
/// library does not let derived classes call.
template <typename Library>
class HttpClient::Connection final : public Library {
 public:
  template <typename... Words>
  explicit Connection(Talk& talk, Words const&... words) : Library(words...), talk_(talk) {}

 private:
  using Socket = typename Library::Socket;
  bool process_socket(Socket const& socket,
                      std::function<bool(httplib::Stream&)> callback) override {
    Stream stream(socket.sock, socket.ssl, talk_);
    return callback(stream);
  }

  Talk& talk_;
};

HttpServer server_at(std::string const& url) {
  config::Url const parsed = config::parse_url(url).value_or(config::Url{});
  return {.tls = parsed.scheme == "https",
          .host = parsed.address.host,
          .port = parsed.address.port,
          .path = parsed.path == "/" ? "" : parsed.path};
}

std::string to_text(HttpServer const& server) {
  return (server.tls ? "https://" : "http://") +
         config::to_text(config::Address{server.host, server.port}) +
         server.path.substr(0, server.path.find('?'));
}

HttpClient::HttpClient(HttpTls tls) : tls_(std::move(tls)) {}
HttpClient::~HttpClient() {
  disconnect();
}

void HttpClient::connect(HttpServer const& server, std::string const& address) {
  if (server.tls) {
    auto secure = std::make_unique<Connection<httplib::SSLClient>>(talk_, server.host, server.port,
                                                                   tls_.cert_file, tls_.key_file);
    if (!tls_.ca_file.empty()) {
      secure->set_ca_cert_path(tls_.ca_file);
    }
    secure->enable_server_certificate_verification(tls_.is_verified);
    connection_ = std::move(secure);
  } else {
    connection_ =
        std::make_unique<Connection<httplib::ClientImpl>>(talk_, server.host, server.port);
  }
  connection_->set_hostname_addr_map({{server.host, address}});
  connection_->set_keep_alive(true);
  connection_->set_tcp_nodelay(true);  // head and body are two writes: without it each costs 40 ms
  connection_->set_url_encode(false);
  connection_->set_socket_options([this](int socket) { watch(socket); });
  server_ = server;
}

void HttpClient::disconnect() {
  connection_.reset();
  watch(-1);
}

/// Duplicates the library's socket to a descriptor of our own: at the moment of an interrupt,
/// theirs may already be closed and its number belong to another file.
void HttpClient::watch(int socket) {
  std::lock_guard const lock(mutex_);
  if (socket_ >= 0) {
    ::close(socket_);
  }
  socket_ = socket >= 0 ? ::fcntl(socket, F_DUPFD_CLOEXEC, 0) : -1;
  if (interrupted_ && socket_ >= 0) {
    ::shutdown(socket_, SHUT_RDWR);  // makes a later connect fail
  }
}

HttpReply HttpClient::send(HttpServer const& server, HttpRequest const& request,
                           TimePoint deadline) {
  if (connection_ && server == server_) {
    // The library replaces a connection that it finds closed.
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
  talk_ = {.deadline = deadline, .is_head = request.method == "HEAD"};
  HttpReply reply;
  bool has_enough = false;
  std::size_t unneeded = 0;
  made.content_receiver = [&](char const* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (interrupted_ || TimePoint::clock::now() >= deadline) {
      return false;
    }
    if (request.on_data) {
      reply.was_begun = true;
      has_enough = !request.on_data({data, size});
      return !has_enough;
    }
    if (!request.needs_body) {
      unneeded += size;
      return unneeded <= kMostUnneeded;
    }
    reply.body.append(data, size);
    return reply.body.size() <= kLongestAnswer;
  };
  int status = 0;
  made.response_handler = [&](httplib::Response const& head) {
    status = head.status;
    if (!request.needs_body) {
      talk_.deadline = std::min(deadline, TimePoint::clock::now() + kUnneeded);
    }
    return true;
  };
  httplib::Result const result = connection_->send(made);
  if (has_enough || !talk_.keeps_alive || !result) {
    disconnect();
  }
  retry_after_ = std::max(retry_after_, talk_.retry_after);
  bool const is_answered = status != 0 && !request.needs_body;
  if (result || has_enough || is_answered) {
    reply.status = status;
    return reply;
  }
  if (reply.body.size() > kLongestAnswer) {
    return {.error = to_text(server) + ": an answer of more than 4 MiB", .is_too_long = true};
  }
  // The library counts its waits in whole milliseconds: one may end just before the deadline.
  constexpr std::chrono::milliseconds kRounding{2};
  bool const is_late = TimePoint::clock::now() + kRounding >= deadline;
  // The loop interrupts at the deadline, too: that is reported as the deadline.
  // Rounded, so that each attempt has the same text, which is then logged once.
  auto const tenths = std::chrono::ceil<std::chrono::duration<std::int64_t, std::deci>>(left);
  std::string const why = is_late
                              ? "no answer within " + std::to_string(tenths.count() * 100) + " ms"
                          : interrupted_       ? "interrupted"
                          : talk_.is_malformed ? "the answer is not HTTP/1.1"
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
