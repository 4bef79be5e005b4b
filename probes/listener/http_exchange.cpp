#include "probes/listener/http_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include <httplib.h>

namespace lastcall::probes {

namespace {

/// What the library believes to be a connection.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}

  bool is_readable() const override { return !input_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    std::size_t const count = std::min(size, input_.size());
    std::memcpy(to, input_.data(), count);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(char const* from, std::size_t size) override {
    output_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  std::string take_output() { return std::move(output_); }

 private:
  std::string_view input_;
  std::string output_;
};

Request to_request(httplib::Request const& from) {
  return Request{.method = from.method,
                 .path = from.path,
                 .query = {from.params.begin(), from.params.end()},
                 .headers = {from.headers.begin(), from.headers.end()}};
}

}  // namespace

class HttpExchange::Server final : public httplib::Server {
 public:
  Server() {
    // Routing happens before the body would be read, so it never is.
    set_pre_routing_handler([this](httplib::Request const& request, httplib::Response& response) {
      answer_into(request, response);
      return HandlerResponse::Handled;
    });
    set_error_handler([](httplib::Request const&, httplib::Response& response) {
      if (response.body.empty()) {
        response.set_content("cannot read the request: not HTTP/1.1 as this listener speaks it\n",
                             "text/plain; charset=utf-8");
      }
    });
  }

  std::string run(std::string_view head, Answer const& answer) {
    MemoryStream stream(head);
    answer_ = &answer;
    pending_ = false;
    bool closed = false;
    process_request(stream, true, closed, [](httplib::Request& request) {
      request.headers.erase("Accept-Encoding");
      request.ranges.clear();
    });
    answer_ = nullptr;
    return pending_ ? std::string{} : stream.take_output();
  }

 private:
  void answer_into(httplib::Request const& request, httplib::Response& response) {
    std::optional<Reply> reply;
    try {
      reply = (*answer_)(to_request(request));
    } catch (std::exception const&) {
      reply = Reply{.status = 500, .body = "internal error\n"};
    }
    if (!reply) {
      pending_ = true;
      return;
    }
    response.status = reply->status;
    for (auto const& [name, value] : reply->headers) {
      response.set_header(name, value);
    }
    response.set_header("Content-Type", reply->content_type);
    response.body = std::move(reply->body);
  }

  Answer const* answer_ = nullptr;
  bool pending_ = false;
};

HttpExchange::HttpExchange() : server_(std::make_unique<Server>()) {}
HttpExchange::~HttpExchange() = default;

std::string HttpExchange::run(std::string_view head, Answer const& answer) {
  return server_->run(head, answer);
}

}  // namespace lastcall::probes
