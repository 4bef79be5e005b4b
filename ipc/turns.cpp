#include "ipc/turns.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ipc/outbox.hpp"

namespace lastcall::ipc {
namespace {

constexpr std::chrono::milliseconds kSlice{5};
constexpr std::uint64_t kPatience = 50;  // slices: 250 ms of reading

}  // namespace

Turns::Turns(boost::asio::io_context& io, std::shared_ptr<Outbox> outbox)
    : io_(io), outbox_(std::move(outbox)) {}

void Turns::add(std::shared_ptr<Reader> reader) {
  auto const right = static_cast<std::size_t>(reader->right());
  queues_[right].push_back({std::move(reader), ++places_, slices_});
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

/// The queue whose first reader comes next; null if all are empty.
Turns::Queue* Turns::next() {
  auto const is_late = [this](Queue const& queue) {
    return !queue.empty() && slices_ - queue.front().slice > kPatience;
  };
  auto& [first, newcomers, crowd] = queues_;
  std::array<Queue*, 4> const rota{&first, &newcomers, &first, nullptr};
  Queue* const favoured = rota[turns_++ % rota.size()];
  if (favoured != nullptr && is_late(*favoured)) {
    return favoured;
  }
  Queue* oldest = nullptr;
  for (Queue& queue : queues_) {
    if (!queue.empty() && (oldest == nullptr || queue.front().place < oldest->front().place)) {
      oldest = &queue;
    }
  }
  return oldest;
}

void Turns::take_a_slice() {
  Outbox::Turn const turn(*outbox_);
  auto const until = std::chrono::steady_clock::now() + kSlice;
  for (Queue* queue = next(); queue != nullptr; queue = next()) {
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
    if (std::chrono::steady_clock::now() >= until) {
      ++slices_;
      return post();
    }
  }
}

}  // namespace lastcall::ipc
