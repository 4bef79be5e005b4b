#include "router/key_ring.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace lastcall::router {
namespace {

constexpr unsigned kBits = 64;

/// The finalizer of SplitMix64: a change of one bit of `value` changes the whole result.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

/// Each seed has a sequence of its own.
constexpr std::uint64_t drawn(std::uint64_t seed, std::size_t which) {
  return mixed(mixed(seed) + (which + 1) * 0x9e3779b97f4a7c15U);
}

}  // namespace

std::uint64_t KeyRing::point_of(std::uint64_t place, std::size_t which) {
  return drawn(place, which);
}

/// The complement keeps these points away from the points of a worker with the same hash.
std::uint64_t KeyRing::probe_of(std::uint64_t key, std::size_t which) {
  return drawn(~key, which);
}

KeyRing::KeyRing(std::span<Member const> members)
    // There are about as many parts of the circle as points, and at least two.
    : begins_(std::bit_ceil(std::max<std::size_t>(members.size() * kPoints, 2)) + 1),
      shift_(kBits - static_cast<unsigned>(std::countr_zero(begins_.size() - 1))) {
  std::vector<Point> drawn_points;
  drawn_points.reserve(members.size() * kPoints);
  for (Member const& member : members) {
    for (std::size_t which = 0; which < kPoints; ++which) {
      drawn_points.push_back({point_of(member.place, which), member.number});
      ++begins_[(drawn_points.back().at >> shift_) + 1];
    }
  }
  for (std::size_t part = 1; part < begins_.size(); ++part) {
    begins_[part] += begins_[part - 1];
  }
  // Points are sorted by part, and then within each part. They are spread evenly, so this takes
  // time in proportion to their number.
  points_.resize(drawn_points.size());
  std::vector<std::uint32_t> next(begins_);
  for (Point const& point : drawn_points) {
    points_[next[point.at >> shift_]++] = point;
  }
  auto const before = [](Point const& one, Point const& other) { return one.at < other.at; };
  for (std::size_t part = 0; part + 1 < begins_.size(); ++part) {
    if (begins_[part + 1] - begins_[part] > 1) {
      std::sort(points_.begin() + begins_[part], points_.begin() + begins_[part + 1], before);
    }
  }
}

/// The first point at `place` or after it, clockwise.
std::size_t KeyRing::after(std::uint64_t place) const {
  std::size_t at = begins_[place >> shift_];
  while (at < points_.size() && points_[at].at < place) {
    ++at;
  }
  return at < points_.size() ? at : 0;
}

KeyRing::Cursors KeyRing::cursors_of(std::uint64_t key) const {
  Cursors cursors;
  for (std::size_t which = 0; which < kProbes && !points_.empty(); ++which) {
    std::uint64_t const probe = probe_of(key, which);
    std::size_t const at = after(probe);
    cursors[which] = {probe, points_[at].at - probe, at, points_.size()};
  }
  return cursors;
}

KeyRing::Cursor& KeyRing::nearest_of(Cursors& cursors) {
  return *std::min_element(
      cursors.begin(), cursors.end(),
      [](Cursor const& one, Cursor const& other) { return one.distance < other.distance; });
}

void KeyRing::go_on(Cursor& cursor) const {
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  cursor.left -= cursor.left > 0 ? 1 : 0;
  cursor.at = cursor.at + 1 < points_.size() ? cursor.at + 1 : 0;
  cursor.distance = cursor.left > 0 ? points_[cursor.at].at - cursor.probe : kNever;
}

}  // namespace lastcall::router
