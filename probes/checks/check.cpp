#include "probes/checks/check.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "probes/checks/connect_attempt.hpp"

namespace lastcall::probes {

namespace {

class TcpAttempt final : public ConnectAttempt {
 public:
  using ConnectAttempt::ConnectAttempt;

 private:
  void on_connected() override { report({.result = CheckResult::passed}); }
};

}  // namespace

std::unique_ptr<Check> make_tcp_check(boost::asio::any_io_executor executor,
                                      TcpCheckSettings settings) {
  auto target = std::make_shared<Target const>(Target{std::move(settings.host), settings.port});
  return std::make_unique<AttemptCheck>(
      [executor = std::move(executor), target = std::move(target),
       hangs = std::make_shared<bool>(false)](CheckDone done) -> std::shared_ptr<ConnectAttempt> {
        return std::make_shared<TcpAttempt>(executor, *target, hangs, std::move(done));
      });
}

struct AskedCheck::State {
  State(boost::asio::any_io_executor const& executor, Ask ask_with)
      : ask(std::move(ask_with)), timer(executor) {}

  void report(CheckOutcome outcome) {
    if (!done) {
      return;
    }
    outcome.latency =
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started);
    timer.cancel();
    std::exchange(done, nullptr)(std::move(outcome));
  }

  Ask ask;
  boost::asio::steady_timer timer;
  CheckDone done;  // empty: no question is open
  std::uint64_t round = 0;
  std::chrono::steady_clock::time_point started;
};

AskedCheck::AskedCheck(boost::asio::any_io_executor executor, Ask ask)
    : state_(std::make_shared<State>(executor, std::move(ask))) {}

AskedCheck::~AskedCheck() {
  AskedCheck::cancel();
}

void AskedCheck::start(Duration timeout, CheckDone done) {
  cancel();
  state_->done = std::move(done);
  state_->started = std::chrono::steady_clock::now();
  auto const round = ++state_->round;
  state_->timer.expires_after(timeout);
  state_->timer.async_wait([state = state_, round, timeout](boost::system::error_code error) {
    if (!error && state->round == round) {
      state->report({.result = CheckResult::timed_out,
                     .detail = "no answer within " + std::to_string(timeout.count()) + " ms"});
    }
  });
  auto const obstacle = state_->ask();
  if (!obstacle.empty()) {
    boost::asio::post(state_->timer.get_executor(), [state = state_, round, obstacle] {
      if (state->round == round) {
        state->report({.result = CheckResult::failed_unclear, .detail = obstacle});
      }
    });
  }
}

void AskedCheck::cancel() {
  state_->done = nullptr;
  state_->timer.cancel();
  ++state_->round;
}

void AskedCheck::answered(CheckOutcome outcome) {
  state_->report(std::move(outcome));
}

}  // namespace lastcall::probes
