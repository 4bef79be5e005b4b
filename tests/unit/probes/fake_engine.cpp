#include "tests/unit/probes/fake_engine.hpp"

#include <array>

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace lastcall::probes::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct FakeEngine::Client {
  explicit Client(tcp::socket from) : socket(std::move(from)) {}
  tcp::socket socket;
  std::string request;
  char byte = 0;
};

FakeEngine::FakeEngine(asio::io_context& io, bool ipv6, std::uint16_t port)
    : acceptor_(io, ipv6 ? tcp::endpoint(asio::ip::address_v6::loopback(), port)
                         : tcp::endpoint(asio::ip::address_v4::loopback(), port)),
      port_(acceptor_.local_endpoint().port()) {
  accept();
}

void FakeEngine::answer(std::string response, Then then) {
  silent_ = false;
  response_ = std::move(response);
  then_ = then;
}

void FakeEngine::never_answer() {
  silent_ = true;
}

void FakeEngine::die() {
  error_code ignored;
  acceptor_.close(ignored);
  for (auto const& client : open_) {
    client->socket.close(ignored);
  }
  open_.clear();
}

void FakeEngine::accept() {
  acceptor_.async_accept(
      [this, alive = std::weak_ptr(alive_)](error_code error, tcp::socket socket) {
        if (error || alive.expired()) {
          return;
        }
        ++connections_;
        auto const client = std::make_shared<Client>(std::move(socket));
        open_.push_back(client);
        serve(client);
        accept();
      });
}

void FakeEngine::serve(std::shared_ptr<Client> const& client) {
  asio::async_read_until(
      client->socket, asio::dynamic_buffer(client->request), "\r\n\r\n",
      [this, client, alive = std::weak_ptr(alive_)](error_code error, std::size_t) {
        if (alive.expired()) {
          return;
        }
        last_request_ = client->request;
        if (error) {
          open_.remove(client);
        } else if (silent_ || (holds_posts_ && client->request.starts_with("POST "))) {
          wait_for_close(client);
        } else {
          respond(client);
        }
      });
}

void FakeEngine::respond(std::shared_ptr<Client> const& client) {
  asio::async_write(client->socket, asio::buffer(response_),
                    [this, client, alive = std::weak_ptr(alive_)](error_code, std::size_t) {
                      if (alive.expired()) {
                        return;
                      }
                      error_code ignored;
                      switch (then_) {
                        case Then::keep_open:
                          break;
                        case Then::reset:
                          client->socket.set_option(asio::socket_base::linger(true, 0), ignored);
                          client->socket.close(ignored);
                          break;
                        case Then::close:
                          client->socket.shutdown(tcp::socket::shutdown_send, ignored);
                          break;
                      }
                      wait_for_close(client);
                    });
}

void FakeEngine::wait_for_close(std::shared_ptr<Client> const& client) {
  asio::async_read(client->socket, asio::buffer(&client->byte, 1),
                   [this, client, alive = std::weak_ptr(alive_)](error_code error, std::size_t) {
                     if (alive.expired()) {
                       return;
                     }
                     if (!error) {
                       wait_for_close(client);
                       return;
                     }
                     open_.remove(client);
                   });
}

std::string http_response(int status, std::string const& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Word\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace lastcall::probes::test
