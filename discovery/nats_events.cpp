#include "discovery/nats_events.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <nats/nats.h>

#include "base/followed_files.hpp"
#include "discovery/job_thread.hpp"
#include "discovery/secret_file.hpp"
#include "discovery/tls_files.hpp"

namespace lastcall::discovery {

namespace {

constexpr int kKeptBytes = 256 * 1024;  // the bound while there is no server
// The most messages that wait for the thread: a stop hands all streams off at once.
constexpr std::size_t kMostWaiting = 20'000;
constexpr std::int64_t kConnectMs = 2'000;
constexpr std::int64_t kBetweenConnectsMs = 1'000;
constexpr std::int64_t kConnectJitterMs = 250;
constexpr std::int64_t kWriteMs = 500;
constexpr std::int64_t kPingMs = 5'000;
constexpr Duration kLookAgain{1'000};  // the interval while there is no connection

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

/// RetryOnFailedConnect requires a callback; we query the state instead.
void connected(natsConnection*, void*) {}

}  // namespace

/// Used on the JobThread only.
class NatsEvents::Connection {
 public:
  explicit Connection(NatsSettings settings)
      : settings_(std::move(settings)),
        files_({settings_.tls.ca_file, settings_.tls.cert_file, settings_.tls.key_file,
                settings_.password_file, settings_.credentials_file}) {}

  std::string publish(std::string const& message) {
    if (connection_ && is_refused()) {
      refused_ = refusal();
      connection_.reset();  // the next one shows whether messages are permitted by now
    }
    auto failed = open();
    if (failed.empty()) {
      failed = hand_over(message);
    }
    if (!failed.empty() && kept_bytes_ + message.size() <= std::size_t{kKeptBytes}) {
      kept_.push_back(message);
      kept_bytes_ += message.size();
    }
    return failed;
  }

  std::string look() {
    auto failed = open();
    return failed.empty() ? standing() : failed;
  }

  std::string close(TimePoint deadline) {
    if (!connection_ && kept_.empty()) {
      return {};
    }
    auto failed = look();
    if (failed.empty()) {
      auto const left =
          std::chrono::duration_cast<Duration>(deadline - TimePoint::clock::now()).count();
      auto const status =
          natsConnection_FlushTimeout(connection_.get(), std::max<std::int64_t>(left, 1));
      failed = status == NATS_OK ? refusal() : failure(status);
    }
    connection_.reset();
    forget_kept();
    again_at_ = {};
    return failed;
  }

 private:
  std::string failure(natsStatus status) const {
    return settings_.url + ": " + natsStatus_GetText(status);
  }
  std::string hand_over(std::string const& message) {
    auto const status = natsConnection_Publish(connection_.get(), settings_.subject.c_str(),
                                               message.data(), static_cast<int>(message.size()));
    return status == NATS_OK ? standing() : failure(status);
  }
  /// If a server is connected, the library has sent it the messages that waited.
  std::string standing() {
    auto failed = absence();
    if (failed.empty()) {
      forget_kept();
      failed = refusal();
    }
    return failed;
  }
  /// A server reports a message that it does not permit some time later, so the first message of
  /// each connection is waited for.
  std::string refusal() {
    if (!std::exchange(was_answered_, true)) {
      static_cast<void>(natsConnection_FlushTimeout(connection_.get(), kWriteMs));
    }
    return is_refused() ? settings_.url + ": the server permits no message on " + settings_.subject
                        : "";
  }
  bool is_refused() const {
    char const* unlocked = nullptr;
    return natsConnection_GetLastError(connection_.get(), &unlocked) == NATS_NOT_PERMITTED;
  }
  void forget_kept() {
    kept_.clear();
    kept_bytes_ = 0;
  }
  /// The reason why messages do not reach a server, if there is one.
  std::string absence() const {
    if (natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED) {
      return {};
    }
    char const* unlocked = nullptr;  // the library's own buffer, which its threads may change
    auto const why = natsConnection_GetLastError(connection_.get(), &unlocked);
    return settings_.url + ": not connected" +
           (why == NATS_OK ? "" : std::string(": ") + natsStatus_GetText(why));
  }

  /// Each new connection reads the files again.
  std::string open() {
    if (connection_ && is_spent()) {
      refused_ = absence();
      connection_.reset();
    }
    if (connection_) {
      return {};
    }
    auto const now = TimePoint::clock::now();
    if (now < again_at_) {
      return refused_;
    }
    again_at_ = now + kLookAgain;
    refused_ = connect();
    if (refused_.empty()) {
      for (auto const& message : kept_) {
        static_cast<void>(natsConnection_Publish(connection_.get(), settings_.subject.c_str(),
                                                 message.data(), static_cast<int>(message.size())));
      }
    }
    return refused_;
  }

  /// The library gives up if the server refuses a name or password twice. Otherwise, also if TLS
  /// fails, it tries for ever with what was in the files.
  bool is_spent() {
    natsConnection* const connection = connection_.get();
    return natsConnection_IsClosed(connection) ||
           (natsConnection_Status(connection) != NATS_CONN_STATUS_CONNECTED &&
            files_.have_changed());
  }

  std::string connect() {
    files_.read_now();
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
      return settings_.url + ": " + failed;
    }
    if (auto failed = secure(made, check); !failed.empty()) {
      return settings_.url + ": " + failed;
    }
    if (check.status() != NATS_OK) {
      return failure(check.status());
    }
    was_answered_ = false;
    natsConnection* connection = nullptr;
    auto const status = natsConnection_Connect(&connection, made);
    connection_.reset(connection);
    // The library keeps trying; only options that cannot work are an error here.
    return connection == nullptr ? failure(status) : "";
  }

  std::string identify(natsOptions* options, Checked& check) const {
    if (!settings_.user.empty()) {
      std::string password = settings_.password;
      if (auto failed = read_password(settings_.password_file, password); !failed.empty()) {
        return failed;
      }
      check(natsOptions_SetUserInfo(options, settings_.user.c_str(), password.c_str()));
    }
    if (!settings_.credentials_file.empty()) {
      if (!read_secret(settings_.credentials_file)) {
        return "cannot use the credentials: " +
               why_unusable({settings_.credentials_file}, "the file is empty");
      }
      check(natsOptions_SetUserCredentialsFromFiles(options, settings_.credentials_file.c_str(),
                                                    nullptr));
    }
    return {};
  }

  /// Empty, or the file that cannot be used.
  std::string secure(natsOptions* options, Checked& check) const {
    auto const& tls = settings_.tls;
    if (!settings_.url.starts_with("tls:") && tls.ca_file.empty() && tls.cert_file.empty()) {
      return {};
    }
    check(natsOptions_SetSecure(options, true));
    if (!tls.ca_file.empty() &&
        natsOptions_LoadCATrustedCertificates(options, tls.ca_file.c_str()) != NATS_OK) {
      return "cannot use the authorities: " + why_unusable({tls.ca_file}, "no certificate in PEM");
    }
    if (!tls.cert_file.empty() &&
        natsOptions_LoadCertificatesChain(options, tls.cert_file.c_str(), tls.key_file.c_str()) !=
            NATS_OK) {
      return "cannot use the client's certificate: " +
             why_unusable({tls.cert_file, tls.key_file},
                          "no certificate in PEM with the key that belongs to it");
    }
    return {};
  }

  NatsSettings const settings_;
  FollowedFiles files_;
  std::unique_ptr<natsConnection, Close> connection_;
  // Messages that an abandoned connection may not have sent: the next connection sends them.
  std::vector<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  bool was_answered_ = false;  // the first message of this connection
  TimePoint again_at_;         // no new connection before this
  std::string refused_;        // why there is no connection until then
};

struct NatsEvents::Waiting {
  explicit Waiting(boost::asio::any_io_executor const& executor)
      : thread(executor, "nats", kSmallStack, JobThread::Life::kept), timer(executor) {}
  JobThread thread;
  boost::asio::steady_timer timer;  // runs while the last result was an error
  bool is_open = false;             // from a message to disconnect()
  std::size_t messages = 0;
};

NatsEvents::NatsEvents(boost::asio::any_io_executor executor, NatsSettings settings,
                       OnResult on_result)
    : on_result_(std::move(on_result)),
      connection_(std::make_shared<Connection>(std::move(settings))),
      waiting_(std::make_shared<Waiting>(executor)) {}

NatsEvents::~NatsEvents() = default;

void NatsEvents::run(std::function<std::string(Connection&)> job,
                     std::function<void(std::string)> then) {
  auto const error = std::make_shared<std::string>();
  waiting_->thread.run(
      [connection = connection_, job = std::move(job), error] { *error = job(*connection); },
      [error, then = std::move(then)] { then(std::move(*error)); });
}

void NatsEvents::publish(std::string message) {
  if (waiting_->messages >= kMostWaiting) {
    on_result_("too many messages are queued");
    return;
  }
  waiting_->is_open = true;
  ++waiting_->messages;
  run([message =
           std::move(message)](Connection& connection) { return connection.publish(message); },
      [this](std::string const& error) {  // not called once this is gone
        --waiting_->messages;
        ended(error);
      });
}

void NatsEvents::ended(std::string const& error) {
  on_result_(error);
  if (error.empty() || !waiting_->is_open || waiting_->messages != 0) {
    return;
  }
  waiting_->timer.expires_after(kLookAgain);
  waiting_->timer.async_wait([this, weak = std::weak_ptr(waiting_)](auto const& failed) {
    auto const waiting = weak.lock();
    if (!failed && waiting && waiting->is_open && waiting->messages == 0) {
      run([](Connection& connection) { return connection.look(); },
          [this](std::string const& found) { ended(found); });
    }
  });
}

void NatsEvents::disconnect(TimePoint deadline, RegistryDone done) {
  waiting_->is_open = false;
  waiting_->timer.cancel();
  run([deadline](Connection& connection) { return connection.close(deadline); },
      [done = std::move(done)](std::string error) {
        done(error.empty() ? RegistryResult::ok() : RegistryResult::failed(std::move(error)));
      });
}

}  // namespace lastcall::discovery
