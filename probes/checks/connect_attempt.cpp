#include "probes/checks/connect_attempt.hpp"

#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

namespace lastcall::probes {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

std::string to_text(asio::ip::tcp::endpoint const& endpoint) {
  auto const address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

/// Whether descriptors, memory or local ports are exhausted, here or in the whole system.
bool is_shortage(error_code error) {
  namespace errc = boost::system::errc;
  return error == asio::error::no_descriptors || error == errc::too_many_files_open_in_system ||
         error == asio::error::no_buffer_space || error == asio::error::no_memory ||
         error == errc::address_not_available;
}

}  // namespace

ConnectAttempt::ConnectAttempt(asio::any_io_executor const& executor, Target const& target,
                               std::shared_ptr<bool> lookup_hangs, CheckDone done)
    : socket_(executor),
      target_(target),
      lookup_hangs_(std::move(lookup_hangs)),
      done_(std::move(done)),
      started_(std::chrono::steady_clock::now()),
      timer_(executor),
      resolver_(executor) {}

void ConnectAttempt::begin(Duration timeout) {
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this(), timeout](error_code error) {
    if (!error) {
      self->report({.result = CheckResult::timed_out,
                    .detail = "no answer within " + std::to_string(timeout.count()) + " ms"});
    }
  });
  if (add_known_addresses()) {
    connect_next();
  } else {
    look_up();
  }
}

void ConnectAttempt::abandon() {
  done_ = nullptr;
  close();
}

void ConnectAttempt::report(CheckOutcome outcome) {
  if (is_over()) {
    return;
  }
  outcome.latency =
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - started_);
  auto const done = std::exchange(done_, nullptr);
  close();
  done(std::move(outcome));
}

void ConnectAttempt::close() {
  error_code ignored;
  timer_.cancel();
  resolver_.cancel();
  socket_.close(ignored);
}

bool ConnectAttempt::add_known_addresses() {
  if (target_.host == "localhost") {  // RFC 6761: loopback, without asking anyone
    endpoints_ = {Endpoint(asio::ip::address_v4::loopback(), target_.port),
                  Endpoint(asio::ip::address_v6::loopback(), target_.port)};
    return true;
  }
  error_code error;
  auto const address = asio::ip::make_address(target_.host, error);
  if (!error) {
    endpoints_ = {Endpoint(address, target_.port)};
  }
  return !error;
}

void ConnectAttempt::report_later(CheckOutcome outcome) {
  asio::post(timer_.get_executor(),
             [self = shared_from_this(), outcome = std::move(outcome)] { self->report(outcome); });
}

void ConnectAttempt::look_up() {
  if (*lookup_hangs_) {
    report_later({.result = CheckResult::timed_out,
                  .detail = "the lookup of " + target_.host + " still hangs"});
    return;
  }
  try {
    ask_the_resolver();
  } catch (boost::system::system_error const& error) {
    *lookup_hangs_ = false;
    report_later({.result = CheckResult::not_asked,
                  .detail = "cannot look up " + target_.host + ": " + error.code().message()});
  }
}

/// Throws if the thread for lookups cannot be started, which the next call attempts again.
void ConnectAttempt::ask_the_resolver() {
  *lookup_hangs_ = true;
  resolver_.async_resolve(
      target_.host, std::to_string(target_.port), asio::ip::resolver_base::numeric_service,
      [self = shared_from_this(), hangs = lookup_hangs_](
          error_code error, asio::ip::tcp::resolver::results_type const& results) {
        *hangs = false;
        if (self->is_over()) {
          return;
        }
        if (error) {
          self->report({.result = CheckResult::failed_unclear,
                        .detail = "cannot look up " + self->target_.host + ": " + error.message()});
          return;
        }
        for (auto const& entry : results) {
          self->endpoints_.push_back(entry.endpoint());
        }
        self->connect_next();
      });
}

void ConnectAttempt::connect_next() {
  if (next_ == endpoints_.size()) {
    if (refused_by_.empty()) {
      report({.result = is_short_ ? CheckResult::not_asked : CheckResult::failed_unclear,
              .detail = last_error_});
    } else {
      report({.result = CheckResult::failed_definite,
              .detail = "connection refused by " + refused_by_});
    }
    return;
  }
  auto const& to = endpoints_[next_++];
  error_code ignored;
  socket_.close(ignored);
  socket_.async_connect(to, [self = shared_from_this(), to](error_code error) {
    if (!self->is_over()) {
      self->on_connect(error, to);
    }
  });
}

void ConnectAttempt::on_connect(error_code error, Endpoint const& to) {
  error_code ignored;
  bool const to_itself =
      !error && socket_.local_endpoint(ignored) == socket_.remote_endpoint(ignored);
  if (error == asio::error::connection_refused || to_itself) {
    refused_by_ = to_text(to);
    connect_next();
  } else if (error) {
    is_short_ = is_shortage(error);
    last_error_ = "cannot connect to " + to_text(to) + ": " + error.message();
    connect_next();
  } else {
    on_connected();
  }
}

void AttemptCheck::start(Duration timeout, CheckDone done) {
  cancel();
  attempt_ = make_([this, done = std::move(done)](CheckOutcome outcome) {
    attempt_.reset();  // its buffers are not needed until the next round
    done(std::move(outcome));
  });
  attempt_->begin(timeout);
}

void AttemptCheck::cancel() {
  if (auto const attempt = std::exchange(attempt_, nullptr)) {
    attempt->abandon();
  }
}

}  // namespace lastcall::probes
