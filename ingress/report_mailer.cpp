#include "ingress/report_mailer.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace lastcall::ingress {
namespace {

/// The limit of a batch, so that a long turn does not delay the reports of its first requests.
constexpr std::size_t kMostInABatch = 64;

}  // namespace

ReportMailer::ReportMailer(boost::asio::io_context& io, LiveIds& ids, Mail mail)
    : io_(io), ids_(ids), mail_(std::move(mail)) {}

void ReportMailer::send(report::Report report) {
  batch_.push_back(std::move(report));
  if (batch_.size() >= kMostInABatch) {
    post();
  } else {
    post_soon();
  }
}

void ReportMailer::release(std::string_view id) {
  released_.emplace_back(id);
  post_soon();
}

/// Posts at the end of this turn, together with the other reports of the turn.
void ReportMailer::post_soon() {
  if (!std::exchange(is_due_, true)) {
    boost::asio::post(io_, [this] {
      is_due_ = false;
      post();
    });
  }
}

void ReportMailer::post() {
  if (!batch_.empty()) {
    mail_(std::exchange(batch_, {}));
  }
  if (!released_.empty()) {
    ids_.release(released_);
    released_.clear();
  }
}

}  // namespace lastcall::ingress
