// Checks a webhook's certificate regularly on a thread of its own, and keeps the latest one that
// may be served in a file.
//
// Invariants:
//  1. A look begins at the start, then kInterval after one that had nothing left to do, and sooner
//     after one that had; never within kShortest of the last.
//  2. A look that fails changes nothing for clients: the certificate that is served stays.
//  3. Destruction takes no longer than a call that is interrupted.
//
// Thread rule: its listeners are called on its own thread; everything else from the owner's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "base/descriptor.hpp"
#include "base/thread.hpp"
#include "supervisor/kube/certificate_keeper.hpp"
#include "supervisor/kube/memory_file.hpp"

namespace lastcall::kube {

class CertificateUpkeep {
 public:
  static constexpr std::chrono::seconds kInterval{60};
  static constexpr std::chrono::seconds kShortest{2};

  /// Called after each look.
  using OnLook = std::function<void(CertificateLook const& look)>;

  CertificateUpkeep(Access access, KeptNames names, OnLook on_look);
  ~CertificateUpkeep();
  CertificateUpkeep(CertificateUpkeep const&) = delete;
  CertificateUpkeep& operator=(CertificateUpkeep const&) = delete;

  /// Returns 0 or the error number.
  int start();
  /// A descriptor that is readable once there is a certificate to serve.
  int first() const { return first_.get(); }
  /// The file with the certificate and its key in PEM; valid from the first certificate on.
  std::string path() const { return file_.path(); }
  /// Called if a client does not trust the served certificate: makes the next look come soon.
  void hurry();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool wait(Clock::duration pause);
  void serve(CertificateLook& look);

  ApiServer api_;
  CertificateKeeper keeper_;
  OnLook const on_look_;
  MemoryFile file_;
  Descriptor first_;
  KeyPair served_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_hurried_ = false;
  bool is_ending_ = false;
  SmallThread thread_;
};

}  // namespace lastcall::kube
