// A client for listeners that does exactly what a test asks for, slow and rude things included.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lastcall::probes::test {

/// One TCP connection to 127.0.0.1 (or ::1); closes itself.
class Connection {
 public:
  explicit Connection(std::uint16_t port, bool ipv6 = false);
  Connection(Connection const&) = delete;
  Connection(Connection&& other) noexcept;
  ~Connection();

  bool is_open() const { return fd_ >= 0; }
  bool send(std::string_view bytes) const;
  /// Everything until the server closes, or until the deadline.
  std::string receive_all(std::chrono::milliseconds at_most = std::chrono::seconds(10)) const;
  /// Whether the server closed before the deadline.
  bool sees_close(std::chrono::milliseconds at_most) const;
  void close();
  void reset();  // RST instead of FIN

 private:
  int fd_ = -1;
};

struct Response {
  int status = 0;  // 0: no answer
  std::string head;
  std::string body;
};

Response parse_response(std::string const& text);
Response get(std::uint16_t port, std::string const& target);

/// A port of 127.0.0.1 that nothing listens on.
std::uint16_t free_port();

}  // namespace lastcall::probes::test
