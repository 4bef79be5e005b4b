#include "ingress/address_limit.hpp"

#include <utility>

namespace lastcall::ingress {

AddressLimit::AddressLimit(std::optional<std::uint32_t> most)
    : most_(most), table_(most ? std::make_shared<Table>() : nullptr) {}

std::optional<AddressLimit::Place> AddressLimit::take(std::string const& address) {
  if (!most_) {
    return Place();
  }
  std::lock_guard const lock(table_->mutex);
  std::uint32_t& places = table_->places[address];
  if (places >= *most_) {
    return std::nullopt;
  }
  ++places;
  return Place(table_, address);
}

AddressLimit::Place& AddressLimit::Place::operator=(Place&& other) noexcept {
  if (this != &other) {
    give_back();
    table_ = std::move(other.table_);
    address_ = std::move(other.address_);
  }
  return *this;
}

void AddressLimit::Place::give_back() {
  if (!table_) {
    return;
  }
  std::lock_guard const lock(table_->mutex);
  if (auto const found = table_->places.find(address_);
      found != table_->places.end() && --found->second == 0) {
    table_->places.erase(found);
  }
}

}  // namespace lastcall::ingress
