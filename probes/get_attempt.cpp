#include "probes/get_attempt.hpp"

#include <boost/beast/http.hpp>

namespace lastcall::probes {

namespace http = boost::beast::http;

struct GetAttempt::Request {
  http::request<http::empty_body> message;
};

GetAttempt::GetAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url,
                       Headers const& headers, std::shared_ptr<bool> lookup_hangs, CheckDone done)
    : ConnectAttempt(executor, url.target, std::move(lookup_hangs), std::move(done)),
      request_(std::make_unique<Request>(Request{{http::verb::get, url.path, 11}})) {
  request_->message.set(http::field::host, url.host_header);
  request_->message.set(http::field::user_agent, "lastcall");
  request_->message.set(http::field::accept, "*/*");
  request_->message.set(http::field::connection, "close");
  for (auto const& [name, value] : headers) {
    request_->message.set(name, value);
  }
}

GetAttempt::~GetAttempt() = default;

void GetAttempt::fail(std::string why) {
  report({.result = CheckResult::failed_unclear, .detail = std::move(why)});
}

void GetAttempt::on_connected() {
  auto self = std::static_pointer_cast<GetAttempt>(shared_from_this());
  http::async_write(socket_, request_->message,
                    [self](boost::system::error_code error, std::size_t) {
                      if (self->is_over()) {
                        return;
                      }
                      if (error) {
                        self->fail("cannot send the request: " + error.message());
                      } else {
                        self->read_response();
                      }
                    });
}

}  // namespace lastcall::probes
