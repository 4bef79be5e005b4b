#include <exception>
#include <utility>

#include <lastcall/client.hpp>

#include "sdk/cpp/session.hpp"

namespace lastcall {
namespace {

std::string why_not(std::string const& id, Admission const& admission) {
  return "request '" + id + "' may not run: " +
         (admission.refusal ? std::string(name(*admission.refusal)) : "it was cancelled");
}

}  // namespace

NotAdmitted::NotAdmitted(std::string const& id, Admission admission)
    : std::runtime_error(why_not(id, admission)), admission_(admission) {}

Client::Client(ClientOptions options)
    : session_(std::make_shared<sdk::Session>(std::move(options))) {
  session_->start();
}

Client::~Client() {
  close();
}

bool Client::is_enabled() const {
  return session_->is_enabled();
}

bool Client::is_connected() const {
  return session_->protocol().phase().is_connected();
}

std::optional<Phase> Client::phase() const {
  return session_->protocol().phase().phase();
}

bool Client::is_draining() const {
  return session_->protocol().phase().phase().value_or(Phase::starting) >= Phase::draining;
}

std::optional<std::chrono::milliseconds> Client::time_left() const {
  return session_->protocol().phase().time_left();
}

void Client::close(std::chrono::milliseconds at_most) {
  session_->failures().stop();
  session_->close(at_most);
}

void Client::register_endpoint(std::string name, bool graceful_shutdown, std::string model) {
  session_->protocol().endpoints().set({std::move(name), graceful_shutdown, std::move(model)});
}

void Client::unregister_endpoint(std::string const& name) {
  session_->protocol().endpoints().drop(name);
}

RequestContext Client::begin(RequestOptions options) {
  return session_->begin(std::move(options), nullptr);
}

RequestContext Client::begin_admitted(
    RequestOptions options, std::function<void(RequestContext const&, Admission const&)> decided) {
  return session_->begin(std::move(options), std::move(decided));
}

RequestContext Client::begin_admitted(RequestOptions options) {
  if (!session_->can_wait()) {
    throw std::logic_error(
        "cannot wait for admission here: the client has no thread of its own, or this "
        "is that thread, so nobody would receive the answer");
  }
  auto const promise = std::make_shared<std::promise<Admission>>();
  auto future = promise->get_future();
  RequestContext context = begin_admitted(
      std::move(options),
      [promise](RequestContext const&, Admission const& made) { promise->set_value(made); });
  Admission const admission = future.get();
  if (!admission.may_run) {
    throw NotAdmitted(context.id(), admission);
  }
  return context;
}

std::optional<RequestContext> Client::find(std::string_view id) const {
  return session_->protocol().requests().find(id);
}

std::vector<RequestContext> Client::live() const {
  return session_->protocol().requests().live();
}

std::size_t Client::in_flight() const {
  return session_->protocol().requests().in_flight();
}

std::size_t Client::stop_root(std::string_view root, Reason reason) {
  std::size_t news = 0;
  for (RequestContext const& each : live()) {
    news += each.root() == root && each.stop(reason) ? 1U : 0U;
  }
  return news;
}

std::size_t Client::kill_root(std::string_view root, Reason reason) {
  std::size_t news = 0;
  for (RequestContext const& each : live()) {
    news += each.root() == root && each.kill(reason) ? 1U : 0U;
  }
  return news;
}

void Client::report_load(Load const& load) {
  session_->protocol().send(ipc::Load{load.dp_rank, load.active_decode_blocks, load.kv_total_blocks,
                                      load.active_prefill_tokens});
}

void Client::report_health(Health status, std::string detail) {
  session_->protocol().callbacks().report_health(status, std::move(detail));
}

std::shared_future<bool> Client::report_fatal(std::string reason, std::string detail) {
  return session_->protocol().fatal().report(std::move(reason), std::move(detail));
}

void Client::watch_child(int pid, std::string name, bool any_end) {
  session_->failures().watch_child(pid, std::move(name), any_end);
}

bool Client::forget_child(int pid) {
  return session_->failures().forget_child(pid);
}

void Client::failed_with_exception(std::string const& name) {
  session_->failures().exception_left(name);
}

void Client::on_health(std::function<HealthAnswer()> callback) {
  session_->protocol().callbacks().set(
      [&](sdk::Callbacks::Set& all) { all.health.swap(callback); });
}

void Client::on_cleanup(std::function<void(std::chrono::milliseconds, Done)> callback) {
  session_->protocol().callbacks().set(
      [&](sdk::Callbacks::Set& all) { all.cleanup.swap(callback); });
}

void Client::on_deregister(std::function<void(Done)> callback) {
  bool const joined_any = callback != nullptr;
  session_->protocol().callbacks().set(
      [&](sdk::Callbacks::Set& all) { all.deregister.swap(callback); });
  if (joined_any) {
    session_->protocol().send(ipc::Registered{});  // if this is lost, the next greeting contains it
  }
}

void Client::on_phase(std::function<void(Phase)> callback) {
  session_->protocol().phase().on_change(std::move(callback));
}

int Client::native_handle() const {
  return session_->native_handle();
}

void Client::process() {
  auto const session = session_;  // a callback may destroy the client
  session->process();
}

RequestScope::RequestScope(RequestContext context)
    : context_(std::move(context)), exceptions_(std::uncaught_exceptions()) {}

RequestScope::~RequestScope() {
  bool const is_failing = std::uncaught_exceptions() > exceptions_;
  if (is_failing && !context_.is_stopped()) {
    context_.end(Outcome::error);
  } else {
    context_.end();
  }
}

}  // namespace lastcall
