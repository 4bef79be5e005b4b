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
  Places::value_type& of_address = *table_->places.try_emplace(address).first;
  if (of_address.second >= *most_) {
    return std::nullopt;
  }
  ++of_address.second;
  return Place(table_, of_address);
}

AddressLimit::Place& AddressLimit::Place::operator=(Place&& other) noexcept {
  if (this != &other) {
    give_back();
    table_ = std::move(other.table_);
    of_address_ = other.of_address_;
  }
  return *this;
}

void AddressLimit::Place::give_back() {
  if (!table_) {
    return;
  }
  std::lock_guard const lock(table_->mutex);
  if (--of_address_->second == 0) {
    table_->places.erase(table_->places.find(of_address_->first));
  }
}

}  // namespace lastcall::ingress
