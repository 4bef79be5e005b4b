// Limits the connections of one address at a time.
//
// A place is given back when its connection ends, perhaps on another thread than the one that
// accepts. Without a limit nothing is counted, and a place is empty. Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace lastcall::ingress {

class AddressLimit {
  using Places = std::unordered_map<std::string, std::uint32_t>;  // by address; no entry is 0
  struct Table {
    std::mutex mutex;
    Places places;
  };

 public:
  /// The place of one connection, which its destructor gives back.
  class Place {
   public:
    Place() = default;
    Place(std::shared_ptr<Table> table, Places::value_type& of_address)
        : table_(std::move(table)), of_address_(&of_address) {}
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    Place(Place const&) = delete;
    Place& operator=(Place const&) = delete;
    ~Place() { give_back(); }

   private:
    void give_back();

    std::shared_ptr<Table> table_;
    Places::value_type* of_address_ = nullptr;  // stays where it is until its last place is free
  };

  /// `most` is absent if there is no limit.
  explicit AddressLimit(std::optional<std::uint32_t> most);

  /// Returns a place; absent if the address has reached the limit.
  std::optional<Place> take(std::string const& address);

 private:
  std::optional<std::uint32_t> const most_;
  std::shared_ptr<Table> table_;
};

}  // namespace lastcall::ingress
