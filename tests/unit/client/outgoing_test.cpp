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

TEST(Outgoing, What_is_no_escape_is_taken_as_it_is) {
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

/// Another tier that begins a stream and then waits until its caller leaves.
class OtherTier {
 public:
  OtherTier() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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
  CurlCall(std::string const& url, RequestContext const& context, curl_slist* own = nullptr)
      : headers(add_ids(own, context)) {
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

TEST(CurlCalls, What_fails_by_itself_says_so) {
  RequestContext const context;
  CurlCall call("http://127.0.0.1:1/", context);
  CurlCalls calls;
  EXPECT_EQ(calls.perform(call.easy, context), CURLE_COULDNT_CONNECT);
}

}  // namespace
}  // namespace lastcall
