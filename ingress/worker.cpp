#include "ingress/worker.hpp"

#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <pthread.h>

#include "base/clock.hpp"
#include "base/signals_blocked.hpp"

namespace lastcall::ingress {
namespace {

/// The limit of a batch, so that a long turn does not delay the reports of its first requests.
constexpr std::size_t kMostInABatch = 64;
/// Progress is mailed at most this often, because it proves only that the engine is alive.
constexpr std::chrono::milliseconds kProgressPeriod{100};

}  // namespace

Worker::Worker(Options const& options, Shared const& shared, std::uint64_t first_serial, Mail mail)
    : ids_(shared.ids), mail_(std::move(mail)), io_(std::make_unique<boost::asio::io_context>(1)) {
  Tracker& tracker = *this;
  proxy_ = std::make_unique<Proxy>(
      *io_, options, tracker, shared.memory,
      Proxy::Owner{.client_left = [] {}, .ids = this, .first_serial = first_serial});
}

Worker::~Worker() {
  io_->stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::string Worker::start(unsigned number) {
  SignalsBlocked const inherited;  // signals are for the main thread
  std::string problem;
  try {
    thread_ = std::thread([io = io_.get()] { io->run(); });
    pthread_setname_np(thread_.native_handle(), ("ingress-" + std::to_string(number)).c_str());
  } catch (std::system_error const& error) {
    problem = std::string("cannot start a thread: ") + error.what();
  }
  return problem;
}

// --- orders --------------------------------------------------------------------------------------

void Worker::order(std::function<void(Proxy&)> order) {
  boost::asio::post(*io_, [this, order = std::move(order)] { order(*proxy_); });
}

void Worker::adopt(Accepted accepted) {
  boost::asio::post(*io_, [this, accepted = std::move(accepted)]() mutable {
    ++adopted_;
    proxy_->adopt(std::move(accepted));
  });
}

void Worker::engine_changed(bool may_be_gone, bool may_be_dying) {
  boost::asio::post(*io_, [this, may_be_gone, may_be_dying] {
    engine_may_be_gone_ = may_be_gone;
    engine_may_be_dying_ = may_be_dying;
  });
}

void Worker::ask(std::function<void(bool is_flushed)> answer) {
  boost::asio::post(*io_, [this, answer = std::move(answer)] {
    post();
    answer(proxy_->is_flushed());
  });
}

// --- what the proxy reports ----------------------------------------------------------------------

Admission Worker::begin(Begun const& begun) {
  send_report(report::Begun{.id = std::string(begun.id),
                            .serial = begun.serial,
                            .endpoint = std::string(begun.endpoint),
                            .model = std::string(begun.model),
                            .streaming = begun.streaming,
                            .priority = begun.priority,
                            .parent = std::string(begun.parent),
                            .way = begun.way});
  return {Admission::Kind::waits, {}};
}

void Worker::first_byte(std::string_view id, std::string_view endpoint, std::string_view model,
                        std::chrono::milliseconds took) {
  reported_progress_ = monotonic_time();
  send_report(report::FirstByte{std::string(id), std::string(endpoint), std::string(model), took});
}

void Worker::moved(std::string_view id) {
  std::chrono::milliseconds const now = monotonic_time();
  if (now - reported_progress_ >= kProgressPeriod) {
    reported_progress_ = now;
    send_report(report::Moved{std::string(id)});
  }
}

void Worker::client_gone(std::string_view id, lifecycle::CancelMode mode) {
  send_report(report::ClientGone{std::string(id), mode});
}

void Worker::ended(std::string_view id, lifecycle::Outcome outcome) {
  send_report(report::Ended{std::string(id), outcome});
}

void Worker::handed_off(HandedOff const& handed) {
  send_report(report::HandedOff{.id = std::string(handed.id),
                                .endpoint = std::string(handed.endpoint),
                                .model = std::string(handed.model),
                                .reason = handed.reason,
                                .events = handed.events,
                                .bytes = handed.bytes});
}

void Worker::event_gap(std::string_view endpoint, std::chrono::milliseconds took) {
  send_report(report::EventGap{std::string(endpoint), took});
}

void Worker::error_held() {
  send_report(report::ErrorHeld{});
}

void Worker::refused(relay::Refusal const& refusal) {
  send_report(refusal);
}

void Worker::evicted(Scarce what) {
  send_report(report::Evicted{what});
}

void Worker::shed(Scarce what) {
  send_report(report::Shed{what});
}

void Worker::greeting_failed(GreetingFailed const& failed) {
  send_report(report::GreetingFailed{failed.why, std::string(failed.address)});
}

void Worker::control_called(ControlCall const& call) {
  send_report(report::ControlCalled{.is_granted = call.is_granted,
                                    .is_open = call.is_open,
                                    .rest = call.rest,
                                    .certificate = std::string(call.certificate),
                                    .method = std::string(call.method),
                                    .path = std::string(call.path),
                                    .address = std::string(call.address)});
}

void Worker::slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) {
  send_report(report::SlowTurn{kind, took});
}

void Worker::connections(std::size_t clients, std::size_t upstream) {
  send_report(report::Connections{adopted_, clients, upstream});
}

std::string Worker::claim(std::string_view wanted, bool keep) {
  return ids_.claim(wanted, keep);
}

void Worker::release(std::string_view id) {
  released_.emplace_back(id);
  post_soon();
}

// --- the mail ------------------------------------------------------------------------------------

void Worker::send_report(report::Report report) {
  batch_.push_back(std::move(report));
  if (batch_.size() >= kMostInABatch) {
    post();
  } else {
    post_soon();
  }
}

/// Posts at the end of this turn, together with the other reports of the turn.
void Worker::post_soon() {
  if (!std::exchange(post_is_due_, true)) {
    boost::asio::post(*io_, [this] {
      post_is_due_ = false;
      post();
    });
  }
}

void Worker::post() {
  if (!batch_.empty()) {
    mail_(std::exchange(batch_, {}));
  }
  if (!released_.empty()) {
    ids_.release(released_);
    released_.clear();
  }
}

}  // namespace lastcall::ingress
