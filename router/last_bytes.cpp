#include "router/last_bytes.hpp"

#include <span>
#include <utility>

#include "ingress/poller.hpp"
#include "ingress/upstream.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

class LastBytes::One final : public ingress::Buried, public ingress::LegOwner {
 public:
  One(LastBytes& owner, ingress::Upstream& connection, relay::ResponseReader reader,
      std::shared_ptr<Worker> worker)
      : owner_(owner),
        connection_(connection),
        reader_(std::move(reader)),
        worker_(std::move(worker)) {}

  ingress::Upstream& connection() { return connection_; }
  Worker const& worker() const { return *worker_; }

  void connected() override {}
  void connect_failed() override { owner_.end(*this, false); }
  void engine_takes_more() override {}
  bool takes_response() const override { return true; }
  void response(std::span<char> bytes) override {
    bool const is_more = !reader_.read_body(bytes).empty();
    bool const is_whole = reader_.state() == relay::ResponseState::complete;
    if (is_more || is_whole || reader_.state() == relay::ResponseState::malformed) {
      owner_.end(*this, is_whole && !is_more && bytes.empty());
    }
  }
  void engine_ended(bool /*orderly*/) override { owner_.end(*this, false); }
  void handled() override {}
  void expired(ingress::Wait /*wait*/) override { owner_.end(*this, false); }

 private:
  LastBytes& owner_;
  ingress::Upstream& connection_;
  relay::ResponseReader reader_;
  std::shared_ptr<Worker> const worker_;
};

LastBytes::LastBytes(Parts& parts) : parts_(parts) {}

LastBytes::~LastBytes() = default;

void LastBytes::await(ingress::Upstream& connection, relay::ResponseReader reader,
                      std::shared_ptr<Worker> worker) {
  auto one = std::make_unique<One>(*this, connection, std::move(reader), std::move(worker));
  One& added = *one;
  all_.emplace(&added, std::move(one));
  if (all_.size() > kMost) {
    end(added, false);
    return;
  }
  connection.carry(added);
  connection.wait_for(ingress::Wait::linger);
}

void LastBytes::end(One& one, bool keep) {
  auto const found = all_.find(&one);
  std::unique_ptr<One> ended = std::move(found->second);
  all_.erase(found);
  ended->connection().release(keep && !ended->worker().has_left());
  parts_.connections.swept(ended->worker());
  parts_.poller.bury_unwatched(std::move(ended));
}

}  // namespace lastcall::router
