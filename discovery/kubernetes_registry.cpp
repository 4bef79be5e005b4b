#include "discovery/kubernetes_registry.hpp"

#include <algorithm>
#include <utility>

#include "discovery/deletion_cost.hpp"
#include "discovery/http_thread.hpp"
#include "discovery/kubernetes_session.hpp"

namespace lastcall::discovery {
namespace {

constexpr Duration kLook{500};  // for reading the pod, part of the time for leaving
constexpr Duration kNoteTime{5'000};

/// Posts Events one after the other.
class Notes : public std::enable_shared_from_this<Notes> {
 public:
  Notes(boost::asio::any_io_executor const& executor, KubernetesSettings const& settings)
      : session_(std::make_shared<KubernetesSession>(settings)),
        thread_(executor, "kube-events", settings.tls) {}

  void post(std::string const& text) {
    if (is_posting_) {
      skipped_ += waiting_.empty() ? 0 : 1;
      waiting_ = text;
      return;
    }
    is_posting_ = true;
    run({.text = text, .reason = "OperatorOrder"}, [weak = weak_from_this()] {
      if (auto const self = weak.lock()) {
        self->posted();
      }
    });
  }

  /// Posted in addition to the notes and not merged with them, because it is rare and important.
  void warn(KubernetesSummary event) {
    run(std::move(event), [] {});
  }

 private:
  /// Nobody waits for an Event, and one that cannot be posted is lost.
  void run(KubernetesSummary event, std::function<void()> then) {
    thread_.run(
        TimePoint::clock::now() + kNoteTime,
        [session = session_, event = std::move(event)](HttpClient& client, TimePoint until) {
          static_cast<void>(session->post_event(client, until, event));
        },
        std::move(then));
  }

  void posted() {
    is_posting_ = false;
    if (!waiting_.empty()) {
      std::string const before =
          skipped_ > 0 ? " (" + std::to_string(skipped_) + " orders before it are in the log)" : "";
      skipped_ = 0;
      post(std::exchange(waiting_, {}) + before);
    }
  }

  std::shared_ptr<KubernetesSession> session_;  // not the registry's, which another thread uses
  HttpThread thread_;
  bool is_posting_ = false;
  std::string waiting_;
  std::size_t skipped_ = 0;
};

class KubernetesRegistry final : public Registry {
 public:
  KubernetesRegistry(boost::asio::any_io_executor executor, KubernetesSettings settings)
      : notes_(settings.summary ? std::make_shared<Notes>(executor, settings) : nullptr),
        cost_(settings.deletion_cost.every > Duration{0}
                  ? std::make_shared<DeletionCost>(executor, settings)
                  : nullptr),
        summary_(std::move(settings.summary)),
        on_deletion_(std::move(settings.on_deletion)),
        enters_last_(settings.after_others),
        thread_(std::move(executor), "kube-registry", settings.tls),
        session_(std::make_shared<KubernetesSession>(std::move(settings))) {}

  void register_instances(TimePoint deadline, RegistryDone done) override {
    if (cost_) {
      cost_->start();
    }
    run([](KubernetesSession& session, HttpClient& client,
           TimePoint until) { return session.enter(client, until); },
        deadline, std::move(done));
  }

  void deregister(TimePoint deadline, RegistryDone done) override {
    look_for_deletion(deadline);
    run([](KubernetesSession& session, HttpClient& client,
           TimePoint until) { return session.leave(client, until); },
        deadline, std::move(done));
  }

  bool disconnect(TimePoint deadline, RegistryDone done) override {
    thread_.interrupt();  // a job that still hangs there gets no more time
    if (cost_) {
      cost_->stop();
    }
    if (!summary_) {
      return false;
    }
    run(
        [summary = summary_()](KubernetesSession& session, HttpClient& client, TimePoint until) {
          return session.post_event(client, until, summary);
        },
        deadline, std::move(done));
    return true;
  }

  void note(std::string const& text) override {
    if (notes_) {
      notes_->post(text);
    }
  }

  void warn(std::string const& reason, std::string const& text) override {
    if (notes_) {
      notes_->warn({.is_warning = true, .text = text, .reason = reason});
    }
  }

  void hurry() override { thread_.interrupt(); }
  bool enters_last() const override { return enters_last_; }

 private:
  void look_for_deletion(TimePoint deadline) {
    if (!on_deletion_ || deletion_is_known_) {
      return;
    }
    auto const grace = std::make_shared<std::optional<std::chrono::seconds>>();
    thread_.run(
        std::min<TimePoint>(deadline, TimePoint::clock::now() + kLook),
        [session = session_, grace](HttpClient& client, TimePoint until) {
          *grace = session->deletion_grace(client, until);
        },
        [this, grace] {
          if (*grace && !std::exchange(deletion_is_known_, true)) {
            on_deletion_(**grace);
          }
        });
  }

  using Step = std::function<std::string(KubernetesSession&, HttpClient&, TimePoint)>;

  void run(Step step, TimePoint deadline, RegistryDone done) {
    auto const result = std::make_shared<RegistryResult>();
    thread_.run(
        deadline,
        [session = session_, step = std::move(step), result](HttpClient& client, TimePoint until) {
          std::string failed = step(*session, client, until);
          *result = failed.empty() ? RegistryResult::ok(session->take_note())
                                   : RegistryResult::failed(std::move(failed));
          result->retry_after = client.retry_after();
          result->is_hopeless = session->is_hopeless();
        },
        [result, done = std::move(done)] { done(std::move(*result)); });
  }

  std::shared_ptr<Notes> const notes_;        // empty: no Events are configured
  std::shared_ptr<DeletionCost> const cost_;  // empty: it is not configured
  std::function<KubernetesSummary()> summary_;
  std::function<void(std::chrono::seconds)> on_deletion_;
  bool deletion_is_known_ = false;
  bool const enters_last_;
  HttpThread thread_;
  std::shared_ptr<KubernetesSession> session_;  // shared with jobs, which may outlive the registry
};

}  // namespace

std::unique_ptr<Registry> make_kubernetes_registry(boost::asio::any_io_executor executor,
                                                   KubernetesSettings settings) {
  return std::make_unique<KubernetesRegistry>(std::move(executor), std::move(settings));
}

}  // namespace lastcall::discovery
