#include "discovery/etcd_registry.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "discovery/http_thread.hpp"

namespace lastcall::discovery {

namespace {

constexpr Duration kBeatAgain{500};  // the pause after a failed keep-alive

class EtcdRegistry final : public Registry {
 public:
  EtcdRegistry(boost::asio::any_io_executor executor, EtcdSettings settings,
               Instance const& instance)
      : timer_(executor),
        thread_(executor, "etcd-registry", settings.tls),
        session_(std::make_shared<EtcdSession>(std::move(settings), instance)) {}

  void register_instances(TimePoint deadline, RegistryDone done) override {
    stop_beating();
    run(&EtcdSession::enter, deadline, [this, done = std::move(done)](RegistryResult result) {
      if (result.confirmed) {
        kept_until_ = TimePoint::clock::now() + session_->lease_ttl();
        beat_after(session_->lease_ttl() / 3);
      }
      done(std::move(result));
    });
  }

  void deregister(TimePoint deadline, RegistryDone done) override {
    stop_beating();
    run(&EtcdSession::remove, deadline, std::move(done));
  }

  bool disconnect(TimePoint deadline, RegistryDone done) override {
    if (!was_asked_) {
      return false;
    }
    stop_beating();
    thread_.interrupt();  // a job that still hangs there gets no more time
    run(&EtcdSession::revoke, deadline, std::move(done));
    return true;
  }

  void hurry() override { thread_.interrupt(); }

 private:
  using Step = std::string (EtcdSession::*)(HttpClient&, TimePoint);

  void run(Step step, TimePoint deadline, RegistryDone done) {
    was_asked_ = true;
    auto const result = std::make_shared<RegistryResult>();
    thread_.run(
        deadline,
        [session = session_, step, result](HttpClient& client, TimePoint until) {
          auto error = (*session.*step)(client, until);
          *result = error.empty() ? RegistryResult::ok(session->take_note())
                                  : RegistryResult::failed(std::move(error));
          result->retry_after = client.retry_after();
        },
        [result, done = std::move(done)] { done(std::move(*result)); });
  }

  void beat_after(std::chrono::steady_clock::duration delay) {
    timer_.expires_after(delay);
    timer_.async_wait([this, round = round_](boost::system::error_code error) {
      if (!error && round == round_) {
        beat();
      }
    });
  }

  void beat() {
    beating_ = true;
    auto const began = TimePoint::clock::now();
    auto const result = std::make_shared<EtcdSession::Beat>();
    thread_.run(
        std::min(began + session_->lease_ttl() / 3, kept_until_),
        [session = session_, result](HttpClient& client, TimePoint until) {
          *result = session->beat(client, until);
        },
        [this, result, began, round = round_] {
          if (round == round_) {
            beating_ = false;
            ended(*result, began);
          }
        });
  }

  void ended(EtcdSession::Beat const& beat, TimePoint began) {
    auto const now = TimePoint::clock::now();
    auto const third = session_->lease_ttl() / 3;
    if (beat.lost) {
      on_lost_(beat.error);
    } else if (beat.error.empty()) {
      kept_until_ = began + session_->lease_ttl();
      beat_after(began + third - now);
    } else if (now >= kept_until_) {
      on_lost_("cannot keep the lease alive: " + beat.error);
    } else {
      beat_after(std::min<std::chrono::steady_clock::duration>(kBeatAgain, kept_until_ - now));
    }
  }

  void stop_beating() {
    timer_.cancel();
    ++round_;
    if (std::exchange(beating_, false)) {
      thread_.interrupt();
    }
  }

  boost::asio::steady_timer timer_;
  HttpThread thread_;
  std::shared_ptr<EtcdSession> session_;  // shared with jobs, which may outlive the registry
  TimePoint kept_until_;
  std::uint64_t round_ = 0;  // the run of keeping alive; results of earlier runs are ignored
  bool beating_ = false;
  bool was_asked_ = false;
};

}  // namespace

std::unique_ptr<Registry> make_etcd_registry(boost::asio::any_io_executor executor,
                                             EtcdSettings settings, Instance const& instance) {
  return std::make_unique<EtcdRegistry>(std::move(executor), std::move(settings), instance);
}

}  // namespace lastcall::discovery
