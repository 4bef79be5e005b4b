#include "shim/attempts.hpp"

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

TEST(Attempts, An_attempt_that_is_kept_out_proves_nothing_about_the_supervisor) {
  Attempts attempts;
  EXPECT_FALSE(attempts.is_kept_out());
  for (int const nobody : {ENOENT, ECONNREFUSED, EAGAIN}) {
    attempts.failed(kAtOnce, nobody);
    EXPECT_FALSE(attempts.is_kept_out()) << nobody;
  }
  for (int const other : {EACCES, EPERM, ENOTDIR, EMFILE}) {
    attempts.failed(kAtOnce, other);
    EXPECT_TRUE(attempts.is_kept_out()) << other;
  }
  attempts.succeeded();
  EXPECT_FALSE(attempts.is_kept_out());
}

}  // namespace
}  // namespace lastcall::shim
