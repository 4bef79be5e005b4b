// Calls to other tiers: their ids, and their end when the request is cancelled, libcurl's too.
#include <array>
#include <future>
#include <map>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <lastcall/curl.hpp>
#include <lastcall/outgoing.hpp>
#include <lastcall/stop_channel.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "ipc/unix_socket.hpp"

namespace lastcall {
namespace {

constexpr int kPatienceMs = 20'000;

std::map<std::string, std::string> headers_of(RequestContext const& context) {
  auto const all = outgoing_headers(context);
  return {all.begin(), all.end()};
}

TEST(Outgoing, A_call_has_an_id_of_its_own_and_names_root_and_caller) {
  RequestContext const context("r/decode 1", "r%\xC3\xA9");
  auto first = headers_of(context);
  EXPECT_TRUE(first["X-Request-Id"].starts_with("r/decode%201/")) << first["X-Request-Id"];
  EXPECT_EQ(first["X-Lastcall-Root"], "r%25%C3%A9");
  EXPECT_EQ(first["X-Lastcall-Parent"], "r/decode%201");
  EXPECT_EQ(id_from_header(first["X-Lastcall-Root"]), context.root());
  EXPECT_EQ(id_from_header(first["X-Lastcall-Parent"]), context.id());
  EXPECT_NE(headers_of(context)["X-Request-Id"], first["X-Request-Id"]);
  EXPECT_LE(headers_of(RequestContext(std::string(256, 'x')))["X-Request-Id"].size(), 256U);
}

TEST(Outgoing, A_malformed_escape_is_taken_as_it_is) {
  for (std::string const& text : {"", "%", "a%", "%4", "%zz", "a b"}) {
    EXPECT_EQ(id_from_header(text), text);
  }
  EXPECT_EQ(id_from_header("%41%"), "A%");
}

TEST(AbortOnStop, Calls_once_and_at_once_if_it_is_stopped_already) {
  RequestContext const context;
  int calls = 0;
  {
    AbortOnStop const abort(context, [&] { ++calls; });
    EXPECT_EQ(calls, 0);
    context.stop();
    context.kill();
    EXPECT_EQ(calls, 1);
  }
  AbortOnStop const late(context, [&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(AbortOnStop, Never_calls_once_it_is_gone_whatever_the_moment) {
  for (int i = 0; i < 200; ++i) {
    RequestContext const context;
    auto call = std::make_unique<int>(0);  // what the call's own data would be
    auto abort = std::make_unique<AbortOnStop>(context, [&] { ++*call; });
    std::thread cancels([&] { context.stop(); });
    abort.reset();
    call.reset();
    cancels.join();
  }
}

TEST(AbortOnKill, Is_not_called_by_a_stop) {
  RequestContext const context;
  int calls = 0;
  AbortOnKill const abort(context, [&] { ++calls; });
  context.stop();
  EXPECT_EQ(calls, 0);
  context.kill();
  EXPECT_EQ(calls, 1);
}

TEST(StoppableCalls, A_delete_of_its_path_stops_a_call_as_long_as_it_lives) {
  StoppableCalls calls;
  StopChannel const channel, other;
  RequestContext const context;
  {
    StoppableCalls::Call const call(calls, channel.header().second, context);
    StoppableCalls::Call const again(calls, channel.header().second, RequestContext());
    for (std::string const& path : {other.path(), channel.path() + "0", std::string("/v1/models"),
                                    std::string("/lastcall/calls/"), std::string()}) {
      EXPECT_FALSE(calls.stop(path)) << path;
    }
    EXPECT_FALSE(context.is_stopped());
    EXPECT_TRUE(calls.stop(channel.path()));
    EXPECT_TRUE(context.is_stopped() && !context.is_killed());
    EXPECT_EQ(context.reason(), Reason::parent);
    EXPECT_TRUE(calls.stop(channel.path())) << "it lives";
  }
  EXPECT_FALSE(calls.stop(channel.path()));
}

TEST(StoppableCalls, A_guessed_token_stops_nothing) {
  StoppableCalls calls;
  for (std::string const& secret : {std::string(), std::string(31, 'a'), std::string(257, 'a'),
                                    std::string(32, '/'), std::string(40, '\xC3')}) {
    RequestContext const context;
    StoppableCalls::Call const call(calls, secret, context);
    EXPECT_FALSE(calls.stop("/lastcall/calls/" + secret));
    EXPECT_FALSE(context.is_stopped());
  }
}

/// Another tier that begins a stream and then waits until its caller leaves.
class OtherTier {
 public:
  OtherTier() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listening_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listening_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listening_.get(), generic, &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1/completions";
  }
  std::string const& url() const { return url_; }

  /// The head of the next call.
  std::string accept() {
    wait(listening_);
    caller_ = Descriptor(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return next();
  }
  std::string next() {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      std::string const more = read();
      if (more.empty()) {
        ADD_FAILURE() << "the call has no head: " << head;
        return head;
      }
      head += more;
    }
    return head;
  }
  /// The head of a call that comes while the first one goes on, which is answered by `answer`.
  std::string accept_beside(std::string_view answer) {
    Descriptor call = std::move(caller_);
    std::string head = accept();
    say(answer);
    caller_ = std::move(call);
    return head;
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::send(caller_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  bool has_been_left() const { return read().empty(); }

 private:
  static void wait(Descriptor const& fd) {
    pollfd waiting{fd.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, kPatienceMs), 1) << "nothing comes";
  }
  std::string read() const {
    wait(caller_);
    std::array<char, 4096> bytes{};
    ssize_t const size = ::recv(caller_.get(), bytes.data(), bytes.size(), 0);
    return size > 0 ? std::string(bytes.data(), static_cast<std::size_t>(size)) : "";
  }

  Descriptor listening_, caller_;
  std::string url_;
};

std::size_t keep(char* data, std::size_t, std::size_t size, void* answer) {
  static_cast<std::string*>(answer)->append(data, size);
  return size;
}

/// One call with everything that belongs to it.
struct CurlCall {
  CurlCall(std::string const& url, RequestContext const& context, curl_slist* own = nullptr,
           StopChannel const* channel = nullptr)
      : headers(add_ids(own, context, channel)) {
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  }
  ~CurlCall() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  CurlCall(CurlCall const&) = delete;
  CurlCall& operator=(CurlCall const&) = delete;

  CURL* easy = curl_easy_init();
  curl_slist* headers;
  std::string answer;
};

constexpr std::string_view kBegins =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ntoken 1\r\n";

TEST(CurlCalls, End_as_always_and_keep_their_connection) {
  OtherTier tier;
  RequestContext const context("r");
  CurlCall call(tier.url(), context, curl_slist_append(nullptr, "x-lastcall-root: mine"));
  std::thread other([&] {
    std::string const head = tier.accept();
    EXPECT_NE(head.find("x-lastcall-root: mine\r\n"), std::string::npos) << head;
    EXPECT_EQ(head.find("X-Lastcall-Root"), std::string::npos) << head;
    EXPECT_NE(head.find("X-Lastcall-Parent: r\r\n"), std::string::npos) << head;
    EXPECT_NE(head.find("X-Request-Id: r/"), std::string::npos) << head;
    tier.say(kBegins);
    tier.say("0\r\n\r\n");
    tier.next();  // by the same connection
    tier.say("HTTP/1.1 204 No Content\r\n\r\n");
  });
  CurlCalls calls;
  EXPECT_EQ(calls.perform(call.easy, context), CURLE_OK);
  EXPECT_EQ(call.answer, "token 1");
  EXPECT_EQ(calls.perform(call.easy, context), CURLE_OK);
  other.join();
}

TEST(CurlCalls, A_stop_closes_the_connection_in_the_stream_and_before_the_answer) {
  for (std::string_view const said : {kBegins, std::string_view()}) {
    OtherTier tier;
    RequestContext const context("r");
    CurlCall call(tier.url(), context);
    std::thread other([&] {
      tier.accept();
      tier.say(said);
      context.stop(Reason::migrate);
      EXPECT_TRUE(tier.has_been_left());
    });
    CurlCalls calls;
    EXPECT_EQ(calls.perform(call.easy, context), CURLE_ABORTED_BY_CALLBACK);
    other.join();
    EXPECT_EQ(calls.perform(call.easy, context), CURLE_ABORTED_BY_CALLBACK) << "it is not made";
  }
}

constexpr std::string_view kNoContent = "HTTP/1.1 204 No Content\r\n\r\n";
constexpr std::string_view kNotFound = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

struct ByChannel : testing::Test {
  ByChannel() { curl_easy_setopt(call.easy, CURLOPT_COPYPOSTFIELDS, "{}"); }

  /// The call is made, and stopped when its first token has come.
  void make_and_stop() {
    std::string const head = tier.accept();
    EXPECT_EQ(head.rfind("POST /v1/completions?x=1 ", 0), 0U) << head;
    EXPECT_NE(head.find("X-Lastcall-Channel: " + channel.header().second + "\r\n"),
              std::string::npos);
    tier.say(kBegins);
    context.stop(Reason::operator_);
  }

  OtherTier tier;
  RequestContext context{"r"};
  StopChannel channel;
  CurlCall call{tier.url() + "?x=1", context, nullptr, &channel};
  CurlCalls calls{[](CURL* stop) { curl_easy_setopt(stop, CURLOPT_NOPROXY, "*"); }};
};

TEST_F(ByChannel, A_stop_is_sent_and_what_still_comes_is_delivered) {
  std::thread other([&] {
    make_and_stop();
    std::string const stop = tier.accept_beside(kNoContent);
    EXPECT_EQ(stop.rfind("DELETE " + channel.path() + " HTTP/1.1\r\n", 0), 0U) << stop;
    EXPECT_EQ(stop.find("Content-Length"), std::string::npos) << stop;
    tier.say("7\r\ntoken 2\r\n0\r\n\r\n");
  });
  EXPECT_EQ(calls.perform(call.easy, context, &channel), CURLE_ABORTED_BY_CALLBACK);
  EXPECT_EQ(call.answer, "token 1token 2");
  other.join();
  EXPECT_EQ(calls.perform(call.easy, context, &channel), CURLE_ABORTED_BY_CALLBACK);
}

TEST_F(ByChannel, A_stop_that_is_not_taken_closes_the_connection) {
  std::thread other([&] {
    make_and_stop();
    tier.accept_beside(kNotFound);
    EXPECT_TRUE(tier.has_been_left());
  });
  EXPECT_EQ(calls.perform(call.easy, context, &channel), CURLE_ABORTED_BY_CALLBACK);
  EXPECT_EQ(call.answer, "token 1");
  other.join();
}

TEST_F(ByChannel, A_kill_after_a_stop_closes_the_connection) {
  std::thread other([&] {
    make_and_stop();
    tier.accept_beside(kNoContent);
    context.kill(Reason::operator_);
    EXPECT_TRUE(tier.has_been_left());
  });
  EXPECT_EQ(calls.perform(call.easy, context, &channel), CURLE_ABORTED_BY_CALLBACK);
  other.join();
}

TEST_F(ByChannel, A_call_that_nobody_stops_ends_as_always) {
  std::thread other([&] {
    tier.accept();
    tier.say(kBegins);
    tier.say("0\r\n\r\n");
  });
  EXPECT_EQ(calls.perform(call.easy, context, &channel), CURLE_OK);
  EXPECT_EQ(call.answer, "token 1");
  other.join();
}

TEST(CurlCalls, A_call_that_fails_by_itself_reports_that) {
  RequestContext const context;
  CurlCall call("http://127.0.0.1:1/", context);
  CurlCalls calls;
  EXPECT_EQ(calls.perform(call.easy, context), CURLE_COULDNT_CONNECT);
}

}  // namespace
}  // namespace lastcall
