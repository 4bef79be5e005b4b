#include "supervisor/kube/webhook.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>

#include "base/address_text.hpp"
#include "base/descriptor.hpp"
#include "base/error_text.hpp"
#include "base/failed_writes.hpp"
#include "base/read_to_end.hpp"
#include "config/text.hpp"
#include "inject/node.hpp"
#include "probes/listener/listener.hpp"
#include "probes/listener/listening_socket.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/kube/admission_server.hpp"
#include "supervisor/kube/certificate_upkeep.hpp"
#include "supervisor/kube/json.hpp"
#include "supervisor/kube/pods_file.hpp"
#include "supervisor/kube/sidecar_config.hpp"
#include "supervisor/kube/webhook_counts.hpp"

namespace lastcall::kube {
namespace {

constexpr int kExitNoPort = 1;
constexpr std::chrono::milliseconds kBeat{2'000};

/// Why the webhook cannot continue, and its exit code.
struct Failed {
  int code;
  std::string text;
};

/// Blocks the signals that end the webhook, and returns a descriptor that reports them.
Descriptor blocked_stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Webhook {
 public:
  Webhook(WebhookOptions const& options, config::Environment const& environment, std::ostream& err)
      : options_(options), environment_(environment), review_(options.review), err_(err) {
    review_.inject.check = [](inject::SidecarConfig const& sidecar) {
      return problems_of(sidecar, "lastcall.dev/config");
    };
    if (options.keeps_certificate()) {
      counts_.start_waits_for("no certificate yet");
    }
  }

  int run() {
    try {
      read_pods();
      Descriptor const stop = blocked_stop_signals();
      std::unique_ptr<ingress::TlsContext> tls;
      if (!options_.keeps_certificate()) {
        tls = read_certificate(options_.certificate, options_.key);
      }
      probes::ListeningSocket listening = listen(options_.listen, "--listen");
      probes::HttpListener probes = probe_listener();
      if (auto const problem = probes.start()) {
        throw Failed{kExitNoPort, *problem};
      }
      if (options_.keeps_certificate()) {
        start_upkeep();
        if (!has_certificate_before(stop.get())) {
          return cli::kExitSuccess;
        }
        tls = read_certificate(upkeep_->path(), upkeep_->path());
      }
      serve(ingress::Socket(listening.descriptor.release()), std::move(tls), stop,
            address_text(listening.host, listening.port), probes.address());
      probes.stop();
    } catch (Failed const& failed) {
      err_ << "lastcall webhook: " << failed.text << std::endl;
      return failed.code;
    }
    return cli::kExitSuccess;
  }

 private:
  void log(char const* level, Json const& line) {
    Json whole = {{"level", level}};
    whole.update(line);
    std::lock_guard const lock(log_);
    err_ << json::dump(whole) << std::endl;
  }

  void read_pods() {
    if (options_.pods.empty()) {
      return;
    }
    std::string text;
    Descriptor const file(::open(options_.pods.c_str(), O_RDONLY | O_CLOEXEC));
    int const failed = file ? read_to_end(file.get(), text, inject::kMaximumSize) : errno;
    if (failed != 0) {
      throw Failed{cli::kExitUsage, "cannot read " + options_.pods + ": " + error_text(failed)};
    }
    if (text.size() > inject::kMaximumSize) {
      throw Failed{cli::kExitUsage, options_.pods + ": larger than 32 MiB, expected pods"};
    }
    std::string const& image = options_.review.inject.pod.image;
    config::Problems const problems =
        read_pods_file(text, options_.pods, image.substr(image.rfind(':') + 1), review_.inject.pod);
    if (!problems.empty()) {
      std::string all;
      for (config::Problem const& problem : problems) {
        all += (all.empty() ? "" : "\n") + to_text(problem);
      }
      throw Failed{cli::kExitUsage, all};
    }
  }

  void start_upkeep() {
    auto found = find_access(options_.access, environment_);
    if (auto const* none = std::get_if<NoAccess>(&found)) {
      throw Failed{cli::kExitUsage, "cannot find an API server: " + none->text};
    }
    Access& access = std::get<Access>(found);
    KeptNames names = options_.kept;
    names.space = access.space;
    upkeep_ = std::make_unique<CertificateUpkeep>(
        std::move(access), std::move(names), [this](CertificateLook const& look) { looked(look); });
    if (int const error = upkeep_->start(); error != 0) {
      throw Failed{kExitNoPort, "cannot start a thread: " + error_text(error)};
    }
  }

  /// Called on the upkeep's thread.
  void looked(CertificateLook const& look) {
    bool const is_fine = look.problem.empty();
    counts_.looked(!is_fine            ? LookEnd::failed
                   : look.done.empty() ? LookEnd::kept
                                       : LookEnd::changed);
    counts_.start_waits_for(look.problem);
    for (std::string const& what : look.done) {
      log("info", {{"msg", what}, {"secret", options_.kept.secret}});
    }
    if (look.problem != problem_ && is_fine) {
      log("info", {{"msg", "the certificate can be maintained again"}});
    } else if (look.problem != problem_) {
      log("warning", {{"msg", "the certificate cannot be maintained"}, {"reason", look.problem}});
    }
    problem_ = look.problem;
  }

  /// Waits for a certificate; false if the webhook was asked to end before there was one.
  bool has_certificate_before(int stop) {
    while (true) {
      counts_.beat(0);
      std::array<pollfd, 2> waits{{{stop, POLLIN, 0}, {upkeep_->first(), POLLIN, 0}}};
      ::poll(waits.data(), waits.size(), static_cast<int>(kBeat.count()));
      if (waits[0].revents != 0 || waits[1].revents != 0) {
        return waits[0].revents == 0;
      }
    }
  }

  std::unique_ptr<ingress::TlsContext> read_certificate(std::string const& certificate,
                                                        std::string const& key) {
    ingress::TlsSettings const settings{
        .certificate = certificate,
        .key = key,
        .client_authorities = {},
        .is_only_1_3 = true,
        .ciphers = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                    "TLS_CHACHA20_POLY1305_SHA256"}};
    auto tls = std::make_unique<ingress::TlsContext>(
        settings, [this](ingress::TlsReading const& reading) { report(reading); });
    ingress::TlsReading const reading = tls->load();
    if (!reading.problem.empty()) {
      throw Failed{cli::kExitUsage, reading.problem};
    }
    report(reading);
    return tls;
  }

  void report(ingress::TlsReading const& reading) {
    bool const is_usable = reading.problem.empty();
    counts_.read_certificate(is_usable);
    certificate_ends_at_ = is_usable ? reading.ends_at : certificate_ends_at_;
    std::string const what =
        is_usable ? reading.warning : reading.problem + "; the old one stays in use";
    if (what.empty()) {
      log("info", {{"msg", "certificate read"}});
    } else {
      log("warning", {{"msg", what}});
    }
  }

  static std::optional<config::Address> address_of(std::string const& text) {
    auto const address = config::parse_address(text);
    return address && config::is_ip_literal(address->host) ? address : std::nullopt;
  }

  static config::Address needed_address(std::string const& text, char const* flag) {
    auto const address = address_of(text);
    if (!address) {
      throw Failed{cli::kExitUsage, std::string(flag) + " '" + text +
                                        "', expected an address and a port such as [::]:8443"};
    }
    return *address;
  }

  static probes::ListeningSocket listen(std::string const& text, char const* flag) {
    config::Address const address = needed_address(text, flag);
    auto listening = probes::open_listening_socket(address.host, address.port);
    if (!listening.error.empty()) {
      throw Failed{kExitNoPort, listening.error};
    }
    ::fcntl(listening.descriptor.get(), F_SETFL, O_NONBLOCK);
    return listening;
  }

  probes::HttpListener probe_listener() {
    config::Address const address = needed_address(options_.probes, "--probes");
    return {{.host = address.host, .port = address.port},
            [this](probes::Request const& request, probes::Responder const& responder) {
              responder.send(answer_probe(request.path));
            }};
  }

  probes::Reply answer_probe(std::string const& path) const {
    if (path == "/metrics") {
      return {.body = counts_.exposition(),
              .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    }
    std::string why;
    if (path == "/readyz") {
      why = counts_.why_not_ready();
    } else if (path == "/startupz") {
      why = counts_.why_not_started();
    } else if (path == "/livez") {
      why = counts_.why_not_alive();
    } else {
      return {.status = 404,
              .body = "no such path, there are: /livez /startupz /readyz /metrics\n"};
    }
    return {.status = why.empty() ? 200 : 503, .body = (why.empty() ? "ok" : why) + "\n"};
  }

  void serve(ingress::Socket listening, std::unique_ptr<ingress::TlsContext> tls,
             Descriptor const& stop, std::string const& where, std::string const& probes) {
    counts_.beat(certificate_ends_at_);
    log("info", {{"msg", "listening"}, {"address", where}, {"probes", probes}});
    AdmissionServer server(
        std::move(listening), std::move(tls),
        {.answer = [this](AdmissionRequest const& request) { return answer(request); },
         .tls_failed =
             [this](ingress::TlsFailure const& failure) {
               counts_.tls_failed(failure.kind);
               log("warning",
                   {{"msg", "a client's TLS handshake failed"}, {"reason", failure.detail}});
               if (upkeep_ && failure.kind == ingress::TlsFailure::Kind::certificate) {
                 upkeep_->hurry();
               }
             },
         .ending =
             [this] {
               counts_.end();
               log("info", {{"msg", "ending"}});
             },
         .tick = [this] { counts_.beat(certificate_ends_at_); }});
    server.run(stop.get());
  }

  AdmissionReply answer(AdmissionRequest const& request) {
    if (request.path != "/inject") {
      return {404, R"({"error":"no such path, expected /inject"})"};
    }
    if (request.method != "POST") {
      return {405, R"({"error":"expected POST"})"};
    }
    auto const begin = Counts::Clock::now();
    ReviewAnswer answer = answer_review(request.body, review_);
    counts_.reviewed(answer.end, Counts::Clock::now() - begin);
    bool const is_fine = answer.end == ReviewEnd::injected || answer.end == ReviewEnd::unchanged;
    Json line = {{"msg", name(answer.end)}, {"pod", answer.pod}};
    if (!answer.reason.empty()) {
      line["reason"] = answer.reason;
    }
    log(is_fine ? "info" : "warning", line);
    return {answer.status, std::move(answer.body)};
  }

  WebhookOptions const& options_;
  config::Environment const& environment_;
  ReviewSettings review_;
  std::mutex log_;
  std::ostream& err_;
  std::int64_t certificate_ends_at_ = 0;  // the end of the one in use
  Counts counts_;
  std::string problem_;  // the last look's
  std::unique_ptr<CertificateUpkeep> upkeep_;
};

}  // namespace

int run_webhook(WebhookOptions const& options, config::Environment const& environment,
                std::ostream& err) {
  let_failed_writes_be_errors();
  return Webhook(options, environment, err).run();
}

}  // namespace lastcall::kube
