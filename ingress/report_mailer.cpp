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
    : ids_(ids), mail_(std::move(mail)), post_soon_(io, [this] { post(); }) {}

void ReportMailer::send(report::Report report) {
  batch_.push_back(std::move(report));
  if (batch_.size() >= kMostInABatch) {
    post();
  } else {
    post_soon_.request();
  }
}

void ReportMailer::release(std::string_view id) {
  released_.emplace_back(id);
  post_soon_.request();
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
