#include "discovery/nats_events.hpp"

#include <algorithm>
#include <utility>

#include <nats/nats.h>

#include "discovery/secret_file.hpp"
#include "discovery/worker.hpp"

namespace lastcall::discovery {

namespace {

constexpr int kKeptBytes = 256 * 1024;  // while there is no server
// Messages that the worker has not come to: a stop hands all streams off at once.
constexpr std::size_t kMostWaiting = 20'000;
constexpr std::int64_t kConnectMs = 2'000;
constexpr std::int64_t kBetweenConnectsMs = 1'000;
constexpr std::int64_t kConnectJitterMs = 250;
constexpr std::int64_t kWriteMs = 500;
constexpr std::int64_t kPingMs = 5'000;

struct Close {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
  void operator()(natsConnection* connection) const { natsConnection_Destroy(connection); }
};
using Options = std::unique_ptr<natsOptions, Close>;

/// Collects the first of many statuses that is not good.
class Checked {
 public:
  Checked& operator()(natsStatus status) {
    status_ = status_ == NATS_OK ? status : status_;
    return *this;
  }
  natsStatus status() const { return status_; }

 private:
  natsStatus status_ = NATS_OK;
};

/// For RetryOnFailedConnect, which wants one; the state is asked for instead.
void connected(natsConnection*, void*) {}

}  // namespace

/// On the worker's thread only.
class NatsEvents::Connection {
 public:
  explicit Connection(NatsSettings settings) : settings_(std::move(settings)) {}

  std::string publish(std::string const& message) {
    if (auto failed = open(); !failed.empty()) {
      return failed;
    }
    auto const status = natsConnection_Publish(connection_.get(), settings_.subject.c_str(),
                                               message.data(), static_cast<int>(message.size()));
    return status == NATS_OK ? absence() : failure(status);
  }

  std::string close(TimePoint deadline) {
    if (!connection_) {
      return {};
    }
    auto failed = absence();
    auto const left =
        std::chrono::duration_cast<Duration>(deadline - TimePoint::clock::now()).count();
    if (failed.empty()) {
      auto const status =
          natsConnection_FlushTimeout(connection_.get(), std::max<std::int64_t>(left, 1));
      failed = status == NATS_OK ? "" : failure(status);
    }
    connection_.reset();
    return failed;
  }

 private:
  std::string failure(natsStatus status) const {
    return settings_.url + ": " + natsStatus_GetText(status);
  }
  /// What keeps messages from a server, if anything does.
  std::string absence() const {
    if (natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED) {
      return {};
    }
    char const* why = nullptr;
    natsConnection_GetLastError(connection_.get(), &why);
    return settings_.url + ": not connected" +
           (why == nullptr || *why == '\0' ? "" : std::string(": ") + why);
  }

  std::string open() {
    if (connection_) {
      return {};
    }
    natsOptions* made = nullptr;
    Checked check;
    check(natsOptions_Create(&made));
    Options const options(made);
    if (!made) {
      return failure(check.status());
    }
    check(natsOptions_SetURL(made, settings_.url.c_str()))(
        natsOptions_SetName(made, settings_.client_name.c_str()))(
        natsOptions_SetTimeout(made, kConnectMs))(natsOptions_SetMaxReconnect(made, -1))(
        natsOptions_SetReconnectWait(made, kBetweenConnectsMs))(
        natsOptions_SetReconnectJitter(made, kConnectJitterMs, kConnectJitterMs))(
        natsOptions_SetReconnectBufSize(made, kKeptBytes))(
        natsOptions_SetWriteDeadline(made, kWriteMs))(natsOptions_SetPingInterval(made, kPingMs))(
        natsOptions_SetRetryOnFailedConnect(made, true, connected, nullptr));
    if (auto failed = identify(made, check); !failed.empty()) {
      return failed;
    }
    secure(made, check);
    if (check.status() != NATS_OK) {
      return failure(check.status());
    }
    natsConnection* connection = nullptr;
    auto const status = natsConnection_Connect(&connection, made);
    connection_.reset(connection);
    // It goes on trying by itself; only options that cannot work are an error here.
    return connection == nullptr ? failure(status) : "";
  }

  std::string identify(natsOptions* options, Checked& check) const {
    if (!settings_.user.empty()) {
      std::string password = settings_.password;
      if (!settings_.password_file.empty()) {
        auto const read = read_secret(settings_.password_file);
        if (!read) {
          return "cannot read a password from " + settings_.password_file;
        }
        password = *read;
      }
      check(natsOptions_SetUserInfo(options, settings_.user.c_str(), password.c_str()));
    }
    if (!settings_.credentials_file.empty()) {
      check(natsOptions_SetUserCredentialsFromFiles(options, settings_.credentials_file.c_str(),
                                                    nullptr));
    }
    return {};
  }

  void secure(natsOptions* options, Checked& check) const {
    auto const& tls = settings_.tls;
    if (!settings_.url.starts_with("tls:") && tls.ca_file.empty() && tls.cert_file.empty()) {
      return;
    }
    check(natsOptions_SetSecure(options, true));
    if (!tls.ca_file.empty()) {
      check(natsOptions_LoadCATrustedCertificates(options, tls.ca_file.c_str()));
    }
    if (!tls.cert_file.empty()) {
      check(
          natsOptions_LoadCertificatesChain(options, tls.cert_file.c_str(), tls.key_file.c_str()));
    }
  }

  NatsSettings const settings_;
  std::unique_ptr<natsConnection, Close> connection_;
};

struct NatsEvents::Waiting {
  explicit Waiting(boost::asio::any_io_executor executor) : worker(std::move(executor), "nats") {}
  Worker worker;
  std::size_t messages = 0;
};

NatsEvents::NatsEvents(boost::asio::any_io_executor executor, NatsSettings settings,
                       OnResult on_result)
    : on_result_(std::move(on_result)),
      connection_(std::make_shared<Connection>(std::move(settings))),
      waiting_(std::make_shared<Waiting>(std::move(executor))) {}

NatsEvents::~NatsEvents() = default;

void NatsEvents::run(std::function<std::string(Connection&)> job,
                     std::function<void(std::string)> then) {
  auto const error = std::make_shared<std::string>();
  waiting_->worker.run(
      [connection = connection_, job = std::move(job), error] { *error = job(*connection); },
      [error, then = std::move(then)] { then(std::move(*error)); });
}

void NatsEvents::publish(std::string message) {
  if (waiting_->messages >= kMostWaiting) {
    on_result_("too many messages wait");
    return;
  }
  ++waiting_->messages;
  run([message =
           std::move(message)](Connection& connection) { return connection.publish(message); },
      [this](std::string const& error) {  // not called once this is gone
        --waiting_->messages;
        on_result_(error);
      });
}

void NatsEvents::disconnect(TimePoint deadline, RegistryDone done) {
  run([deadline](Connection& connection) { return connection.close(deadline); },
      [done = std::move(done)](std::string error) {
        done(error.empty() ? RegistryResult::ok() : RegistryResult::failed(std::move(error)));
      });
}

}  // namespace lastcall::discovery
