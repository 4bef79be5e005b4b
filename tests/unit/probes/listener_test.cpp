// The listener as its clients see it: real sockets, and httplib's client as a second opinion.
#include "probes/listener/listener.hpp"

#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <httplib.h>

#include "tests/unit/probes/http_client.hpp"

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;

ListenerSettings on_any_port() {
  return {.host = "::", .port = 0};
}

void echo_path(Request const& request, Responder responder) {
  responder.send({.body = request.method + " " + request.path + "\n"});
}

class Listener : public ::testing::Test {
 protected:
  HttpListener& listen(HttpListener::Handler handler, ListenerSettings settings = on_any_port()) {
    listener_ = std::make_unique<HttpListener>(std::move(settings), std::move(handler));
    auto const error = listener_->start();
    EXPECT_FALSE(error) << *error;
    return *listener_;
  }
  std::unique_ptr<HttpListener> listener_;
};

TEST_F(Listener, Answers_a_get_with_what_the_handler_returns) {
  auto const port = listen(&echo_path).port();
  auto const response = get(port, "/livez");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "GET /livez\n");
  EXPECT_NE(response.head.find("Connection: close"), std::string::npos);
  EXPECT_NE(response.head.find("Content-Length: 11"), std::string::npos);
}

TEST_F(Listener, Serves_both_address_families_on_the_wildcard) {
  auto const port = listen(&echo_path).port();
  Connection const v6(port, true);
  if (!v6.is_open()) {
    GTEST_SKIP() << "this machine has no IPv6 loopback";
  }
  v6.send("GET /six HTTP/1.1\r\n\r\n");
  EXPECT_EQ(parse_response(v6.receive_all()).body, "GET /six\n");
  EXPECT_EQ(get(port, "/four").body, "GET /four\n");
}

TEST_F(Listener, Understands_httplibs_own_client) {
  auto const port = listen(&echo_path).port();
  httplib::Client client("127.0.0.1", port);
  for (int i = 0; i < 3; ++i) {  // it keeps connections where the server lets it
    auto const response = client.Get("/a%20b?x=1");
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "GET /a b\n");
  }
}

TEST_F(Listener, Sends_no_body_to_a_head_request) {
  auto const port = listen(&echo_path).port();
  Connection const connection(port);
  connection.send("HEAD /livez HTTP/1.1\r\n\r\n");
  auto const response = parse_response(connection.receive_all());
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
}

TEST_F(Listener, Gives_the_handler_query_and_headers) {
  std::promise<Request> seen;
  auto const port = listen([&](Request const& request, Responder responder) {
                      seen.set_value(request);
                      responder.send({});
                    }).port();
  Connection const connection(port);
  connection.send("POST /hook?verbose&a=b HTTP/1.1\r\nX-Lastcall-Token: secret\r\n\r\n");
  connection.receive_all();
  auto const request = seen.get_future().get();
  EXPECT_EQ(request.method, "POST");
  EXPECT_TRUE(request.has_query("verbose"));
  EXPECT_FALSE(request.has_query("quiet"));
  EXPECT_EQ(request.header("x-lastcall-token"), "secret");
  EXPECT_EQ(request.header("absent"), "");
}

TEST_F(Listener, Answers_what_is_not_http_with_400) {
  auto const port = listen(&echo_path).port();
  for (auto const* const bytes : {"GARBAGE\r\n\r\n", "GET /x HTTP/1.1\nHost: a\n\n", "\r\n\r\n"}) {
    Connection const connection(port);
    connection.send(bytes);
    auto const response = parse_response(connection.receive_all());
    EXPECT_EQ(response.status, 400) << bytes;
    EXPECT_NE(response.body, "") << bytes;
  }
}

TEST_F(Listener, Turns_an_exception_of_the_handler_into_a_500_without_its_text) {
  auto const port =
      listen([](Request const&, Responder) { throw std::runtime_error("secret"); }).port();
  auto const response = get(port, "/");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ((response.head + response.body).find("secret"), std::string::npos);
}

TEST_F(Listener, Answers_500_when_the_handler_forgets_to) {
  auto const port = listen([](Request const&, Responder) {}).port();
  EXPECT_EQ(get(port, "/").status, 500);
}

TEST_F(Listener, Lets_a_handler_answer_later_from_another_thread) {
  std::promise<Responder> kept;
  auto const port = listen([&](Request const& request, Responder responder) {
                      if (request.path == "/slow") {
                        kept.set_value(std::move(responder));
                      } else {
                        echo_path(request, std::move(responder));
                      }
                    }).port();
  Connection const waiting(port);
  waiting.send("GET /slow HTTP/1.1\r\n\r\n");
  auto const responder = kept.get_future().get();
  EXPECT_EQ(get(port, "/meanwhile").status, 200);
  std::thread([&] { responder.send({.status = 202, .body = "done\n"}); }).join();
  responder.send({.status = 500});  // the second answer has no request
  auto const response = parse_response(waiting.receive_all());
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(response.body, "done\n");
}

TEST_F(Listener, Survives_a_caller_that_dies_before_its_late_answer) {
  std::promise<Responder> kept;
  auto const port = listen([&](Request const& request, Responder responder) {
                      if (request.path == "/slow") {
                        kept.set_value(std::move(responder));
                      } else {
                        echo_path(request, std::move(responder));
                      }
                    }).port();
  Connection dying(port);
  dying.send("GET /slow HTTP/1.1\r\n\r\n");
  auto const responder = kept.get_future().get();
  dying.reset();
  responder.send({});
  EXPECT_EQ(get(port, "/after").status, 200);
}

TEST_F(Listener, Answers_a_post_whose_large_body_it_does_not_want) {
  auto const port = listen([](Request const&, Responder responder) {
                      responder.send({.status = 405, .body = "no\n"});
                    }).port();
  Connection const connection(port);
  connection.send("POST /livez HTTP/1.1\r\nContent-Length: 300000\r\n\r\n");
  connection.send(std::string(300'000, 'x'));
  EXPECT_EQ(parse_response(connection.receive_all()).status, 405);
}

TEST_F(Listener, Sends_a_large_answer_whole) {
  std::string const large(3'000'000, 'm');
  auto const port =
      listen([&](Request const&, Responder responder) { responder.send({.body = large}); }).port();
  EXPECT_EQ(get(port, "/metrics").body.size(), large.size());
}

TEST_F(Listener, Reports_which_port_is_taken) {
  auto const port = listen(&echo_path).port();
  HttpListener second({.host = "::", .port = port}, &echo_path);
  auto const error = second.start();
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("cannot listen on [::]:" + std::to_string(port)), std::string::npos);
  EXPECT_NE(error->find("in use"), std::string::npos);
  HttpListener third({.host = "127.0.0.1", .port = port}, &echo_path);
  EXPECT_TRUE(third.start());
}

TEST_F(Listener, Reports_that_a_name_is_not_an_address) {
  HttpListener listener({.host = "example", .port = 0}, &echo_path);
  auto const error = listener.start();
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("example"), std::string::npos);
}

TEST_F(Listener, Can_be_started_again_on_the_same_port_at_once) {
  auto const port = listen(&echo_path).port();
  EXPECT_EQ(get(port, "/").status, 200);
  listener_->stop();
  listen(&echo_path, {.host = "::", .port = port});
  EXPECT_EQ(get(port, "/").status, 200);
}

TEST_F(Listener, Can_be_dropped_without_having_been_started) {
  HttpListener const listener(on_any_port(), &echo_path);
  HttpListener failed({.host = "256.0.0.1", .port = 0}, &echo_path);
  EXPECT_TRUE(failed.start());
  failed.stop();
}

}  // namespace
}  // namespace lastcall::probes::test
