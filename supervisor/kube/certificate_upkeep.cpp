#include "supervisor/kube/certificate_upkeep.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <sys/eventfd.h>

namespace lastcall::kube {

CertificateUpkeep::CertificateUpkeep(Access access, KeptNames names, OnLook on_look)
    : api_(std::move(access)),
      keeper_(api_, std::move(names)),
      on_look_(std::move(on_look)),
      first_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CertificateUpkeep::~CertificateUpkeep() {
  {
    std::lock_guard const lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  api_.interrupt();
  thread_.join();
}

int CertificateUpkeep::start() {
  return thread_.start("certificate", [this] { run(); });
}

void CertificateUpkeep::hurry() {
  {
    std::lock_guard const lock(mutex_);
    is_hurried_ = true;
  }
  changed_.notify_all();
}

void CertificateUpkeep::run() {
  Clock::duration pause{};
  bool has_failed = false;
  while (wait(pause)) {
    CertificateLook look = keeper_.look(std::time(nullptr));
    if (look.problem.empty()) {
      serve(look);
    }
    on_look_(look);
    bool const fails = !look.problem.empty();
    if (fails && has_failed) {
      pause = std::min<Clock::duration>(2 * pause, kInterval);
    } else {
      pause = fails || look.pair != served_ ? kShortest : kInterval;
    }
    has_failed = fails;
  }
}

/// False if the thread has to end.
bool CertificateUpkeep::wait(Clock::duration pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::min<Clock::duration>(pause, kShortest),
                    [this] { return is_ending_; });
  changed_.wait_for(lock, pause - std::min<Clock::duration>(pause, kShortest),
                    [this] { return is_ending_ || is_hurried_; });
  is_hurried_ = false;
  return !is_ending_;
}

void CertificateUpkeep::serve(CertificateLook& look) {
  bool const is_first = served_.certificate.empty();
  if (look.pair == served_ || (!is_first && !look.was_trusted)) {
    return;
  }
  look.problem = file_.put(look.pair.certificate + look.pair.key);
  if (!look.problem.empty()) {
    return;
  }
  served_ = look.pair;
  if (is_first) {
    ::eventfd_write(first_.get(), 1);
  }
}

}  // namespace lastcall::kube
