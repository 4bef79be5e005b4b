#include "ipc/turns.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ipc/outbox.hpp"

namespace lastcall::ipc {
namespace {

constexpr std::chrono::milliseconds kSlice{5};
constexpr std::chrono::milliseconds kPatience{250};

}  // namespace

Turns::Turns(boost::asio::io_context& io, std::shared_ptr<Outbox> outbox)
    : io_(io), outbox_(std::move(outbox)) {}

void Turns::add(std::shared_ptr<Reader> reader) {
  auto const right = static_cast<std::size_t>(reader->right());
  queues_[right].push_back({std::move(reader), std::chrono::steady_clock::now()});
  post();
}

void Turns::clear() {
  queues_ = {};
}

void Turns::post() {
  if (!std::exchange(is_posted_, true)) {
    boost::asio::post(io_, [weak = weak_from_this()] {
      if (auto const self = weak.lock()) {
        self->is_posted_ = false;
        self->take_a_slice();
      }
    });
  }
}

/// The queue whose first reader comes next.
Turns::Queue* Turns::next(Reader::TimePoint now) {
  auto const is_late = [now](Queue const& queue) {
    return !queue.empty() && now - queue.front().since > kPatience;
  };
  auto& [first, newcomers, crowd] = queues_;
  if (is_late(first)) {
    return &first;
  }
  is_newcomers_turn_ = !is_newcomers_turn_;
  if (is_newcomers_turn_ && is_late(newcomers)) {
    return &newcomers;
  }
  Queue* oldest = nullptr;
  for (Queue& queue : queues_) {
    if (!queue.empty() && (oldest == nullptr || queue.front().since < oldest->front().since)) {
      oldest = &queue;
    }
  }
  return oldest;
}

void Turns::take_a_slice() {
  Outbox::Turn const turn(*outbox_);
  auto now = std::chrono::steady_clock::now();
  auto const until = now + kSlice;
  for (Queue* queue = next(now); queue != nullptr; queue = next(now)) {
    Waiting waiting = std::move(queue->front());
    queue->pop_front();
    switch (waiting.reader->take_turn(until)) {
      case Turn::over:
        break;
      case Turn::again:
        add(std::move(waiting.reader));
        break;
      case Turn::cut:
        queues_[static_cast<std::size_t>(waiting.reader->right())].push_front(std::move(waiting));
        break;
    }
    now = std::chrono::steady_clock::now();
    if (now >= until) {
      return post();
    }
  }
}

}  // namespace lastcall::ipc
