#include "ipc/turns.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ipc/unflushed_outputs.hpp"

namespace lastcall::ipc {
namespace {

constexpr std::chrono::milliseconds kSlice{5};
constexpr std::uint64_t kPatience = 50;  // slices: 250 ms of reading

}  // namespace

Turns::Turns(boost::asio::io_context& io, std::shared_ptr<UnflushedOutputs> unflushed)
    : io_(io), unflushed_(std::move(unflushed)) {}

void Turns::add(std::shared_ptr<Reader> reader) {
  reader->place_ = ++places_;
  reader->slice_ = slices_;
  queues_[static_cast<std::size_t>(reader->right())].push_back(std::move(reader));
  post();
}

void Turns::add_at(Reader const& other, std::shared_ptr<Reader> reader) {
  reader->place_ = other.place_;
  reader->slice_ = other.slice_;
  Queue& queue = queues_[static_cast<std::size_t>(reader->right())];
  auto const after = std::upper_bound(
      queue.begin(), queue.end(), reader->place_,
      [](std::uint64_t place, auto const& waiting) { return place < waiting->place_; });
  queue.insert(after, std::move(reader));
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
    return !queue.empty() && slices_ - queue.front()->slice_ > kPatience;
  };
  auto& [first, newcomers, crowd] = queues_;
  std::array<Queue*, 4> const rota{&first, &newcomers, &first, nullptr};
  Queue* const favoured = rota[turns_++ % rota.size()];
  if (favoured != nullptr && is_late(*favoured)) {
    return favoured;
  }
  Queue* oldest = nullptr;
  for (Queue& queue : queues_) {
    if (!queue.empty() && (oldest == nullptr || queue.front()->place_ < oldest->front()->place_)) {
      oldest = &queue;
    }
  }
  return oldest;
}

void Turns::take_a_slice() {
  UnflushedOutputs::Turn const turn(*unflushed_);
  auto const until = std::chrono::steady_clock::now() + kSlice;
  for (Queue* queue = next(); queue != nullptr; queue = next()) {
    std::shared_ptr<Reader> reader = std::move(queue->front());
    queue->pop_front();
    switch (reader->take_turn(until)) {
      case Turn::over:
        break;
      case Turn::again:
        add(std::move(reader));
        break;
      case Turn::cut:
        add_at(*reader, reader);
        break;
    }
    if (std::chrono::steady_clock::now() >= until) {
      ++slices_;
      return post();
    }
  }
}

}  // namespace lastcall::ipc
