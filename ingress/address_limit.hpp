// How many connections one address may have at a time.
//
// A place is given back wherever its connection ends, which may be another thread than that which
// accepts; without a limit nothing is counted, and a place is empty.
// Thread rule: any thread.
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
  struct Table {
    std::mutex mutex;
    std::unordered_map<std::string, std::uint32_t> places;  // by address; none has 0
  };

 public:
  /// That of one connection, until it goes.
  class Place {
   public:
    Place() = default;
    Place(std::shared_ptr<Table> table, std::string address)
        : table_(std::move(table)), address_(std::move(address)) {}
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    Place(Place const&) = delete;
    Place& operator=(Place const&) = delete;
    ~Place() { give_back(); }

   private:
    void give_back();

    std::shared_ptr<Table> table_;
    std::string address_;
  };

  /// Nothing: as many as there are.
  explicit AddressLimit(std::optional<std::uint32_t> most);

  /// Nothing when the address has as many as it may have.
  std::optional<Place> take(std::string const& address);

 private:
  std::optional<std::uint32_t> const most_;
  std::shared_ptr<Table> table_;
};

}  // namespace lastcall::ingress
