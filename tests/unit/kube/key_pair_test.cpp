#include "supervisor/kube/key_pair.hpp"

#include <string>

#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include "supervisor/kube/openssl_handles.hpp"

namespace lastcall::kube {
namespace {

using openssl::certificates_of;
using std::chrono::hours;
using std::chrono::seconds;

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kLast = kNow + seconds(kLifetime).count();
char const* const kHost = "w.s.svc";

KeyPair made(std::int64_t now = kNow) {
  return make_key_pair({kHost, "w.s", "w"}, now).value();
}

std::size_t count(std::string const& pem) {
  return certificates_of(pem, 100).size();
}

TEST(KeyPair, Its_own_authority_vouches_for_each_name_and_for_no_other) {
  KeyPair const pair = made();
  for (char const* name : {kHost, "w.s", "w"}) {
    EXPECT_EQ(why_refused(pair, name, kNow), "") << name;
  }
  EXPECT_EQ(why_refused(pair, "w.other.svc", kNow), "hostname mismatch");
}

TEST(KeyPair, It_lasts_for_ten_years_and_bears_a_clock_that_is_behind) {
  KeyPair const pair = made();
  EXPECT_EQ(why_refused(pair, kHost, kNow - 3599), "");
  EXPECT_EQ(why_refused(pair, kHost, kNow - 3601), "certificate is not yet valid");
  EXPECT_EQ(why_refused(pair, kHost, kLast - 1), "");
  EXPECT_EQ(why_refused(pair, kHost, kLast + 1), "certificate has expired");
  EXPECT_FALSE(is_near_end(pair, kLast - 31 * kDay));
  EXPECT_TRUE(is_near_end(pair, kLast - 30 * kDay));
  EXPECT_TRUE(is_near_end({}, kNow));
}

TEST(KeyPair, It_is_good_for_a_server_alone) {
  auto const certificate = std::move(certificates_of(made().certificate, 1).front());
  auto const authority = std::move(certificates_of(made().authorities, 1).front());
  EXPECT_EQ(X509_get_extended_key_usage(certificate.get()), XKU_SSL_SERVER);
  EXPECT_EQ(X509_get_key_usage(certificate.get()), KU_DIGITAL_SIGNATURE);
  EXPECT_EQ(X509_check_ca(certificate.get()), 0);
  EXPECT_EQ(X509_check_ca(authority.get()), 1);
  EXPECT_EQ(X509_get_pathlen(authority.get()), 0);
  EXPECT_EQ(X509_get_key_usage(authority.get()), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
  EXPECT_NE(X509_get0_subject_key_id(authority.get()), nullptr);
  EXPECT_NE(X509_get0_authority_key_id(certificate.get()), nullptr);
  EXPECT_EQ(X509_get_version(certificate.get()), 2);
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(certificate.get())), 256);
}

TEST(KeyPair, No_two_of_them_share_anything) {
  KeyPair const one = made();
  KeyPair const other = made();
  EXPECT_NE(one.key, other.key);
  auto const a = std::move(certificates_of(one.authorities, 1).front());
  auto const b = std::move(certificates_of(other.authorities, 1).front());
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(a.get()), X509_get0_serialNumber(b.get())), 0);
  EXPECT_NE(X509_NAME_cmp(X509_get_subject_name(a.get()), X509_get_subject_name(b.get())), 0);
}

TEST(KeyPair, Another_key_or_authority_is_refused) {
  KeyPair pair = made();
  pair.key = made().key;
  EXPECT_EQ(why_refused(pair, kHost, kNow),
            "there is no certificate in PEM with the key that belongs to it");
  pair = made();
  pair.authorities = made().authorities;
  EXPECT_EQ(why_refused(pair, kHost, kNow), "unable to get local issuer certificate");
  EXPECT_NE(why_refused({}, kHost, kNow), "");
}

TEST(KeyPair, While_a_change_lasts_both_authorities_are_trusted_the_new_one_first) {
  KeyPair const old = made(kNow - 100 * kDay);
  KeyPair pair = made();
  std::string const own = pair.authorities;
  pair.authorities = authorities_of(pair, old.authorities, kNow);
  EXPECT_EQ(pair.authorities, own + old.authorities);
  EXPECT_EQ(authorities_of(pair, old.authorities, kNow), pair.authorities);
  EXPECT_EQ(why_refused(pair, kHost, kNow), "");
  EXPECT_EQ(why_refused({old.certificate, old.key, pair.authorities}, kHost, kNow), "");
  EXPECT_EQ(authorities_of(pair, {}, kNow + 29 * kDay), pair.authorities);
  EXPECT_EQ(authorities_of(pair, {}, kNow + 31 * kDay), own);
}

TEST(KeyPair, What_has_ended_is_not_trusted_any_more) {
  KeyPair const old = made();
  KeyPair const pair = made(kLast - 5 * kDay);
  EXPECT_EQ(count(authorities_of(pair, old.authorities, kLast - 5 * kDay)), 2U);
  EXPECT_EQ(authorities_of(pair, old.authorities, kLast + 1), pair.authorities);
}

TEST(KeyPair, However_often_it_changes_the_list_stays_short) {
  KeyPair pair = made();
  for (int i = 0; i < 20; ++i) {
    std::string const before = pair.authorities;
    pair = made();
    std::string const own = pair.authorities;
    pair.authorities = authorities_of(pair, before, kNow);
    EXPECT_EQ(pair.authorities.find(own), 0U);
  }
  EXPECT_EQ(count(pair.authorities), kMostAuthorities);
}

TEST(KeyPair, What_is_no_pem_is_passed_over) {
  KeyPair pair = made();
  EXPECT_EQ(authorities_of(pair, "no PEM\n", kNow), pair.authorities);
  pair.certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(authorities_of(pair, {}, kNow), "");
  EXPECT_NE(why_refused(pair, kHost, kNow), "");
}

}  // namespace
}  // namespace lastcall::kube
