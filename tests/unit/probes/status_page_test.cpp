// The status page behind a real listener, with an owner that answers when the test wants it.
#include "probes/listener/status_page.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/probes/http_client.hpp"

namespace lastcall::probes::test {
namespace {

class Page : public ::testing::Test {
 protected:
  Page() { EXPECT_FALSE(listener_.start()); }
  ~Page() override { listener_.stop(); }

  Connection ask() {
    Connection connection(listener_.port());
    connection.send("GET /status HTTP/1.1\r\n\r\n");
    return connection;
  }
  static int status_of(Connection const& connection) {
    return parse_response(connection.receive_all()).status;
  }
  void wait_for_ask() {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (asked_ == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    ASSERT_GT(asked_, 0);
  }

  std::atomic<int> asked_ = 0;
  StatusPage page_{[this] { ++asked_; }};
  HttpListener listener_{{.host = "::", .port = 0},
                         [this](Request const& request, Responder const& responder) {
                           if (!page_.answer(request, responder)) {
                             responder.send({.status = 404});
                           }
                         }};
};

TEST_F(Page, Is_html_that_forbids_itself_any_other_source) {
  Response const response = get(listener_.port(), "/");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, status_html());
  EXPECT_NE(response.head.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_NE(response.head.find("text/html"), std::string::npos);
}

TEST_F(Page, Leaves_other_paths_and_methods_alone) {
  EXPECT_EQ(get(listener_.port(), "/statusx").status, 404);
  Connection const connection(listener_.port());
  connection.send("POST /status HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(status_of(connection), 405);
  EXPECT_EQ(asked_, 0);
}

TEST_F(Page, Asks_once_for_all_that_wait_and_not_again_while_the_answer_is_fresh) {
  Connection const first = ask();
  wait_for_ask();
  Connection const second = ask();
  EXPECT_EQ(get(listener_.port(), "/").status, 200);  // the second one was read before
  page_.publish("{}\n");
  EXPECT_EQ(parse_response(first.receive_all()).body, "{}\n");
  EXPECT_EQ(parse_response(second.receive_all()).body, "{}\n");
  EXPECT_EQ(asked_, 1);
}

TEST_F(Page, Keeps_few_waiting_for_an_owner_that_stands_still) {
  std::vector<Connection> waiting;
  for (std::size_t i = 0; i < StatusPage::kMostWaiting; ++i) {
    waiting.push_back(ask());
  }
  wait_for_ask();
  // One more than may wait: whichever is read last is refused.
  EXPECT_EQ(get(listener_.port(), "/").status, 200);
  EXPECT_EQ(status_of(ask()), 503);
  page_.publish("{}\n");
  for (Connection const& connection : waiting) {
    EXPECT_EQ(status_of(connection), 200);
  }
}

}  // namespace
}  // namespace lastcall::probes::test
