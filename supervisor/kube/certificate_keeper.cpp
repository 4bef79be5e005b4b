#include "supervisor/kube/certificate_keeper.hpp"

#include <utility>

namespace lastcall::kube {
namespace {

using json::member;

constexpr int kTries = 3;
/// Distinguishes our writes from the writes of whoever applies the chart.
constexpr char const* kManager = "?fieldManager=lastcall-webhook";

/// Why a look cannot continue; it is caught in this file.
struct LookFailed {
  std::string text;
};

}  // namespace

CertificateLook CertificateKeeper::look(std::int64_t now) {
  CertificateLook look;
  try {
    bool is_over = false;
    for (int i = 0; i < kTries && !is_over; ++i) {
      is_over = try_look(now, look);
    }
    if (!is_over) {
      throw LookFailed{again_};
    }
    held_ = look.pair.authorities;
  } catch (LookFailed const& failed) {
    look.problem = failed.text;
  }
  return look;
}

/// False if an object has changed between reading and writing it.
bool CertificateKeeper::try_look(std::int64_t now, CertificateLook& look) {
  Json const registration = get(names_.registration_path(), false);
  if (webhooks_of(registration, names_) == 0) {
    throw LookFailed{"no webhook of " + names_.registration + " calls the Service " +
                     names_.service + " in " + names_.space};
  }
  Json const secret = get(names_.secret_path(), true);
  bool const is_there =
      secret.is_null() ? create_secret(registration, now, look) : take_secret(secret, now, look);
  return is_there && trust(registration, look);
}

KeyPair CertificateKeeper::make(std::string const& before, std::int64_t now) const {
  auto made =
      make_key_pair({names_.host(), names_.service + "." + names_.space, names_.service}, now);
  if (!made) {
    throw LookFailed{"cannot create a certificate: no memory, or no random numbers"};
  }
  made->authorities = authorities_of(*made, before + held_, now);
  return *std::move(made);
}

bool CertificateKeeper::create_secret(Json const& registration, std::int64_t now,
                                      CertificateLook& look) {
  look.pair = make({}, now);
  Answer const answer = api_.create(names_.secrets_path() + kManager,
                                    new_secret(names_, look.pair, registration), kCallPatience);
  if (!is_written(answer)) {
    return false;
  }
  look.done.emplace_back("certificate created");
  return true;
}

bool CertificateKeeper::take_secret(Json const& secret, std::int64_t now, CertificateLook& look) {
  look.pair = pair_of(secret);
  std::string const why = why_refused(look.pair, names_.host(), now);
  if (!is_ours(secret)) {
    if (!why.empty()) {
      throw LookFailed{"the Secret " + names_.secret +
                       " was not made by a webhook, and API servers " +
                       "would refuse its certificate: " + why};
    }
    return true;
  }
  if (!why.empty() || is_near_end(look.pair, now)) {
    return write_secret(secret, make(look.pair.authorities, now), "certificate replaced", look);
  }
  KeyPair wanted = look.pair;
  wanted.authorities = authorities_of(look.pair, {}, now);
  return wanted == look.pair ||
         write_secret(secret, std::move(wanted), "earlier authorities removed", look);
}

bool CertificateKeeper::write_secret(Json const& secret, KeyPair pair, char const* what,
                                     CertificateLook& look) {
  look.pair = std::move(pair);
  if (!patch(names_.secret_path(), secret_patch(secret, look.pair))) {
    return false;
  }
  look.done.emplace_back(what);
  return true;
}

bool CertificateKeeper::trust(Json const& registration, CertificateLook& look) {
  Json const operations = trust_patch(registration, names_, look.pair.authorities);
  look.was_trusted = operations.empty();
  if (look.was_trusted) {
    return true;
  }
  if (!patch(names_.registration_path(), operations)) {
    return false;
  }
  look.done.emplace_back("registration updated to trust the certificate");
  return true;
}

/// Null if the object does not exist and may be absent.
Json CertificateKeeper::get(std::string const& path, bool may_be_absent) const {
  Answer const answer = api_.get(path, kCallPatience);
  if (answer.status == 404 && may_be_absent) {
    return nullptr;
  }
  if (!answer.is_good()) {
    throw LookFailed{answer.error};
  }
  Json object = answer.json();
  if (!member(object, "metadata").is_object()) {
    throw LookFailed{"GET " + path + ": the answer is not a Kubernetes object"};
  }
  return object;
}

bool CertificateKeeper::patch(std::string const& path, Json const& operations) {
  return is_written(api_.patch(path + kManager, operations, kCallPatience));
}

/// False if another writer was faster (409), or a patch's test has failed (422).
bool CertificateKeeper::is_written(Answer const& answer) {
  again_ = answer.error;
  if (answer.status == 409 || answer.status == 422) {
    return false;
  }
  if (!answer.is_good()) {
    throw LookFailed{answer.error};
  }
  return true;
}

}  // namespace lastcall::kube
