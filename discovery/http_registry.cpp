#include "discovery/http_registry.hpp"

#include <algorithm>

#include "discovery/http_message.hpp"
#include "discovery/http_thread.hpp"
#include "discovery/secret_file.hpp"

namespace lastcall::discovery {

namespace {

struct Postings {
  HttpRegistrySettings settings;
  Instance instance;
};

bool is_confirmed(int status, bool leaving) {
  return (status >= 200 && status < 300) || (leaving && (status == 404 || status == 410));
}

std::string post(Postings const& postings, bool leaving, HttpClient& client, TimePoint deadline) {
  auto const& [settings, instance] = postings;
  auto const& server = leaving ? settings.deregister_at : settings.register_at;
  HttpRequest request{
      .path = server.path.empty() ? "/" : "",
      .headers = settings.headers,
      .body = http_message(settings.body, leaving ? "deregister" : "register", instance),
      .needs_body = false};
  if (!settings.token_file.empty()) {
    auto const token = read_secret(settings.token_file);
    if (!token) {
      return why_no_token(settings.token_file);
    }
    request.headers.emplace_back("Authorization", "Bearer " + *token);
  }
  auto const until = std::min<TimePoint>(deadline, TimePoint::clock::now() + settings.timeout);
  auto const reply = client.send(server, request, until);
  if (reply.status == 0) {
    return reply.error;
  }
  return is_confirmed(reply.status, leaving)
             ? std::string{}
             : to_text(server) + ": HTTP status " + std::to_string(reply.status);
}

class HttpRegistry final : public Registry {
 public:
  HttpRegistry(boost::asio::any_io_executor executor, HttpRegistrySettings settings,
               Instance instance)
      : thread_(std::move(executor), "http-registry", settings.tls),
        postings_(
            std::make_shared<Postings const>(Postings{std::move(settings), std::move(instance)})) {}

  void register_instances(TimePoint deadline, RegistryDone done) override {
    run(false, deadline, std::move(done));
  }
  void deregister(TimePoint deadline, RegistryDone done) override {
    run(true, deadline, std::move(done));
  }
  Duration patience() const override { return postings_->settings.timeout; }
  void hurry() override { thread_.interrupt(); }

 private:
  void run(bool leaving, TimePoint deadline, RegistryDone done) {
    auto const result = std::make_shared<RegistryResult>();
    thread_.run(
        deadline,
        [postings = postings_, leaving, result](HttpClient& client, TimePoint until) {
          auto failed = post(*postings, leaving, client, until);
          *result =
              failed.empty() ? RegistryResult::ok() : RegistryResult::failed(std::move(failed));
          result->retry_after = client.retry_after();
        },
        [result, done = std::move(done)] { done(std::move(*result)); });
  }

  HttpThread thread_;
  std::shared_ptr<Postings const> postings_;  // shared with jobs, which may outlive the registry
};

}  // namespace

std::unique_ptr<Registry> make_http_registry(boost::asio::any_io_executor executor,
                                             HttpRegistrySettings settings, Instance instance) {
  return std::make_unique<HttpRegistry>(std::move(executor), std::move(settings),
                                        std::move(instance));
}

}  // namespace lastcall::discovery
