#include "ingress/poller.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/detail/reactor_op.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <sys/epoll.h>
#include <unistd.h>

namespace lastcall::ingress {
namespace {

namespace asio = boost::asio;

constexpr std::uint32_t kEnds = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

/// What a socket gets of a turn. The number of reads alone would not limit it: a read may bring ten
/// thousand chunks of one byte, which are handled one by one.
constexpr int kMostReads = 16;
constexpr std::chrono::milliseconds kShare{1};

}  // namespace

/// The set and its place in the loop. Asio's own wait for a descriptor arms it again each time,
/// which costs a system call per wake-up. The kind of operation that Asio has for the pipe of its
/// signal sets stays registered, and is performed each time something in the set becomes ready.
class Poller::Loop final : public asio::detail::reactor_op {
 public:
  Loop(asio::io_context& context, Poller& poller)
      : reactor_op({}, &Loop::perform, &Loop::abandoned),
        io(context),
        set(::epoll_create1(EPOLL_CLOEXEC)),
        poller_(poller),
        busy_(context.get_executor()),
        reactor_(asio::use_service<asio::detail::reactor>(context)) {
    reactor_.init_task();
    reactor_.register_internal_descriptor(asio::detail::reactor::read_op, set, place_, this);
  }
  ~Loop() {
    *alive = false;
    reactor_.deregister_internal_descriptor(set, place_);
    reactor_.cleanup_descriptor_data(place_);
    ::close(set);
  }
  Loop(Loop const&) = delete;
  Loop& operator=(Loop const&) = delete;

  asio::io_context& io;
  int const set;
  // A posted handler may outlive this object.
  std::shared_ptr<bool> const alive = std::make_shared<bool>(true);

 private:
  static status perform(reactor_op* self) {
    static_cast<Loop*>(self)->poller_.turn();
    return not_done;
  }
  static void abandoned(void*, asio::detail::operation*, boost::system::error_code const&,
                        std::size_t) {}

  Poller& poller_;
  asio::executor_work_guard<asio::io_context::executor_type> busy_;
  asio::detail::reactor& reactor_;
  asio::detail::reactor::per_descriptor_data place_{};
};

/// A turn serves the sockets that are ready; those that were closed meanwhile are freed at its end.
class Poller::Turn {
 public:
  explicit Turn(Poller& poller) : poller_(poller) {
    poller_.is_in_turn_ = true;
    poller_.now_ = std::chrono::steady_clock::now();
  }
  ~Turn() {
    poller_.free_buried();
    poller_.is_in_turn_ = false;
  }
  Turn(Turn const&) = delete;
  Turn& operator=(Turn const&) = delete;

 private:
  Poller& poller_;
};

std::chrono::milliseconds Poller::now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(instant().time_since_epoch());
}

std::chrono::steady_clock::time_point Poller::instant() const {
  return is_in_turn_ ? now_ : std::chrono::steady_clock::now();
}

Poller::Poller(asio::io_context& io, OnSlow on_slow)
    : loop_(std::make_unique<Loop>(io, *this)),
      on_slow_(std::move(on_slow)),
      again_turn_(io, [this] { run_again(); }),
      burial_(io, [this] { free_buried(); }) {}

Poller::~Poller() = default;

bool Poller::add(int fd, Watched& watched) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watched;
  return ::epoll_ctl(loop_->set, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::remove(int fd) {
  ::epoll_ctl(loop_->set, EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::bury(std::unique_ptr<Watched> watched) {
  if (watched->is_due_again_) {
    std::erase(again_, watched.get());
  }
  bury_unwatched(std::move(watched));
}

void Poller::bury_unwatched(std::unique_ptr<Buried> buried) {
  buried_.push_back(std::move(buried));
  // During a turn, its end frees the object; a posted handler would first make the loop look for
  // events again.
  if (!is_in_turn_) {
    burial_.request();
  }
}

void Poller::free_buried() {
  while (!buried_.empty()) {
    std::exchange(buried_, {}).clear();
  }
}

void Poller::again(Watched& watched) {
  if (!std::exchange(watched.is_due_again_, true)) {
    again_.push_back(&watched);
    again_turn_.request();
  }
}

bool Poller::is_share_used(int reads) const {
  return reads >= kMostReads || (reads > 0 && std::chrono::steady_clock::now() - now_ >= kShare);
}

void Poller::run_again() {
  Turn const begun(*this);
  auto const end = now_ + kBearable;
  // Those that request yet another turn are served in that one.
  for (std::size_t left = again_.size(); left > 0 && !again_.empty() && now_ < end; --left) {
    Watched* const next = again_.front();
    again_.pop_front();
    next->is_due_again_ = false;
    serve(*next, 0);
  }
  if (!again_.empty()) {
    again_turn_.request();
  }
}

void Poller::turn() {
  std::array<epoll_event, kBatch> events;
  int const count = ::epoll_wait(loop_->set, events.data(), kBatch, 0);
  Turn const begun(*this);
  for (bool const are_ends : {true, false}) {
    for (int i = 0; i < count; ++i) {
      epoll_event const& event = events[static_cast<std::size_t>(i)];
      if (((event.events & kEnds) != 0) == are_ends) {
        serve(*static_cast<Watched*>(event.data.ptr), event.events);
      }
    }
  }
  if (count == kBatch) {  // the events that were not fetched cause no new edge
    asio::post(loop_->io, [this, alive = loop_->alive] {
      if (*alive) {
        turn();
      }
    });
  }
}

/// Looks at the clock once per call. The object lives until the end of the turn.
void Poller::serve(Watched& watched, std::uint32_t events) {
  watched.ready(events);
  std::chrono::steady_clock::time_point const began = now_;
  now_ = std::chrono::steady_clock::now();
  if (now_ - began > kBearable) {
    on_slow_(watched.kind(), now_ - began);
  }
}

}  // namespace lastcall::ingress
