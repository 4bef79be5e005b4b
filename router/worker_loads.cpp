#include "router/worker_loads.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/text.hpp"
#include "probes/checks/text_attempt.hpp"

namespace lastcall::router {
namespace {

/// After a question without an answer, the next one is asked after at most this time.
constexpr Duration kSoon{1'000};

std::string url_of_load(Worker const& worker, std::optional<std::uint32_t> port) {
  std::optional<config::Url> url = config::parse_url(worker.url());
  if (!url || (url->scheme != "http" && !port)) {
    return {};
  }
  url->address.port = static_cast<std::uint16_t>(port.value_or(url->address.port));
  return "http://" + config::to_text(url->address) + "/metrics";
}

/// `hangs`: the lookup of the name is still running, which shows nothing about the worker.
NoLoad why_not(probes::CheckOutcome const& outcome, bool hangs) {
  if (outcome.result == probes::CheckResult::failed_definite) {
    return NoLoad::refused;
  }
  bool const is_silent = outcome.result == probes::CheckResult::timed_out && !hangs;
  return is_silent ? NoLoad::silent : NoLoad::unclear;
}

}  // namespace

struct WorkerLoads::Followed : std::enable_shared_from_this<Followed> {
  Followed(boost::asio::io_context& io, std::shared_ptr<Worker> of)
      : worker(std::move(of)), timer(io) {}

  std::shared_ptr<Worker> const worker;
  probes::HttpUrl url{};
  std::shared_ptr<LoadText> const text = std::make_shared<LoadText>();
  std::shared_ptr<bool> const lookup_hangs = std::make_shared<bool>(false);
  bool is_own_port = false;
  boost::asio::steady_timer timer;
  std::unique_ptr<probes::Check> check{};
};

WorkerLoads::WorkerLoads(boost::asio::io_context& io, LoadReading const& settings,
                         std::function<std::uint64_t()> draw, Listeners listeners)
    : io_(io), settings_(settings), draw_(std::move(draw)), listeners_(std::move(listeners)) {}

WorkerLoads::~WorkerLoads() = default;

void WorkerLoads::follow(std::shared_ptr<Worker> const& worker) {
  if (!settings_.interval) {
    return;
  }
  auto followed = std::make_shared<Followed>(io_, worker);
  Followed& one = *followed;
  if (!probes::parse_http_url(url_of_load(*worker, settings_.port), one.url).empty()) {
    return;
  }
  one.is_own_port =
      !settings_.port || url_of_load(*worker, {}) == url_of_load(*worker, settings_.port);
  one.check = std::make_unique<probes::AttemptCheck>(
      [this, &one](probes::CheckDone done) -> std::shared_ptr<probes::ConnectAttempt> {
        return std::make_shared<probes::TextAttempt>(
            io_.get_executor(), one.url, probes::Headers{{"Accept", "text/plain"}},
            one.lookup_hangs,
            [text = one.text](std::string_view, std::string_view piece) { text->take(piece); },
            std::move(done));
      });
  followed_.emplace(worker->id(), std::move(followed));
  auto const whole = static_cast<std::uint64_t>(settings_.interval->count());
  ask_in(one, Duration{static_cast<std::int64_t>(draw_() % whole)});
}

void WorkerLoads::forget(Worker const& worker) {
  followed_.erase(worker.id());
}

void WorkerLoads::ask_in(Followed& followed, Duration wait) {
  followed.timer.expires_after(wait);
  // The handler of an expired timer runs even if the worker has left in the meantime.
  followed.timer.async_wait(
      [this, still = followed.weak_from_this()](boost::system::error_code const& error) {
        if (auto const one = still.lock(); one && !error) {
          ask(*one);
        }
      });
}

void WorkerLoads::ask(Followed& followed) {
  Duration const patience = std::max(settings_.max_age / 2, Duration{1});
  if (followed.is_own_port) {
    listeners_.asks(*followed.worker);
  }
  followed.check->start(patience, [this, &followed](probes::CheckOutcome const& outcome) {
    ReportedLoad const load = followed.text->finish();
    bool const is_silent = outcome.result == probes::CheckResult::timed_out;
    if (outcome.result == probes::CheckResult::passed) {
      listeners_.reported(*followed.worker, load);
    } else if (followed.is_own_port) {
      listeners_.reported_nothing(*followed.worker, why_not(outcome, *followed.lookup_hangs));
    }
    ask_in(followed, is_silent ? std::min(*settings_.interval, kSoon) : *settings_.interval);
  });
}

}  // namespace lastcall::router
