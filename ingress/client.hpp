// One connection of a client, and the exchange that it carries.
//
// Invariants:
//  1. One exchange at a time; it ends when its last byte has left or its abort is done.
//  2. Its end, its reset, or (for a request that counts) the end of what it sends, is seen while
//     the engine is silent; the engine's connection is closed before anything else happens.
//  3. A response that was cut never looks finished.
//  4. Reading stops while what was read is not taken: back-pressure in both directions.
//
// client.cpp holds the connection, client_request.cpp what the client sends, client_engine.cpp its
// way to the engine, client_response.cpp the way back, client_held.cpp errors that are held back,
// client_engine_end.cpp what the end of the engine's connection means, client_end.cpp how exchanges
// end, client_room.cpp how it makes room for others.
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "ingress/exchange.hpp"
#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/poller.hpp"
#include "ingress/socket.hpp"
#include "ingress/tls.hpp"
#include "relay/control_paths.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

class Proxy;
class Upstream;

class Client final : public Watched, public DeadlineOwner {
 public:
  /// `place`: when it is its turn to be closed in a drain; see Proxy::close_over().
  Client(Proxy& proxy, Accepted accepted);

  void ready(std::uint32_t events) override;
  void expired(Wait wait) override;

  // From its connection to the engine.
  void connected();
  void connect_failed();
  void engine_takes_more();
  bool takes_response() const { return out_.empty() && !(exchange_ && exchange_->held); }
  void response(std::span<char> bytes);
  void engine_ended(bool orderly);

  // From the proxy.
  void admitted();
  void rejected(relay::Refusal const& refusal);
  void cut(relay::Refusal const& refusal, bool at_once);
  void refuse_connection(relay::Refusal const& refusal);
  /// It has no request: it is closed for the sake of another one. False when it has one after all.
  bool give_way();
  /// What it holds and will not need by itself, or only because it is slow.
  std::size_t dead_weight() const;
  /// Closes it, for the sake of the others. Its client is told where that costs nothing.
  void shed();
  /// Charges what it holds now.
  void weigh();
  /// Every check of the engine has passed that began then or later.
  void check_passed(std::chrono::milliseconds since);
  /// Without a request it is closed soon: one that is on its way is still answered.
  void part_soon();
  void part_if_idle();
  /// Of its request, once that has asked for its place; else 0.
  std::uint64_t serial() const { return exchange_ ? exchange_->serial : 0; }
  bool is_flushed() const { return out_.empty(); }
  void close();

 private:
  friend class Proxy;
  enum class End : std::uint8_t { keep, close, linger };

  // client.cpp
  IoResult receive(std::span<char> into);
  IoResult send(std::string_view bytes);
  bool has_left() const;
  void broke();
  void pump();
  bool wants_input() const;
  void input(std::span<char> bytes);
  void forget_read(std::size_t used);
  std::size_t consume(std::span<char> bytes);
  void write(std::string_view bytes);
  void flush();
  void written();
  void lost();
  void next();
  void read_on();

  // client_request.cpp
  std::size_t request_head(std::span<char> bytes);
  bool take_head(std::string_view bytes);
  bool may_control(relay::RequestHead const& head, relay::Destination const& destination,
                   relay::Access access);
  void refuse_control(relay::RequestHead const& head, relay::Access access);
  void describe(relay::RequestHead const& head, relay::Destination const& destination,
                bool is_control);
  std::size_t request_body(std::span<char> bytes);
  void await_request();
  bool keeps_up(std::size_t bytes);
  void take_body(std::string_view payload);

  // client_engine.cpp
  void begin();
  void connect();
  void send_request();
  bool may_repeat() const;
  void repeat();
  void pass_on_the_end();
  bool is_ending_tunnel() const;
  void await_response();

  // client_response.cpp
  bool response_head(std::span<char>& bytes, std::string& wire);
  bool start_response(std::string_view head, std::string& wire);
  void prepare_return(relay::ResponseHead const& head, std::string& wire);
  void response_body(std::span<char>& bytes, std::string& wire);
  bool has_all_of_response() const;
  void responded(std::string_view wire, bool took_all);
  void deliver(std::string_view payload, std::string& wire);
  void note_event();
  void note_first_byte();
  void take_early_words();
  void emit(std::string_view first, std::string_view second, std::string& wire);
  void finish_response(std::string& wire);

  // client_held.cpp
  bool may_hold() const;
  HeldError& hold(HeldError::Part part);
  bool hold_event(std::string_view payload, std::string& wire);
  void let_through();

  // client_engine_end.cpp
  bool ends_with_a_line() const;
  bool says_done() const;
  void ended_by_close();
  void engine_lives();
  void finish();
  void engine_failed();

  // client_end.cpp
  bool is_idle() const;
  void refuse(relay::Refusal const& refusal);
  void refuse_early(unsigned status, std::string_view what, bool head_only = false);
  void refuse_as(relay::Refusal const& refusal, bool head_only = false);
  void hand_off(relay::Refusal const& refusal);
  void break_off(relay::Refusal const& refusal, lifecycle::Outcome outcome);
  bool must_stay() const;
  void leave_to_engine();
  void drop_upstream();
  void end_exchange();
  void part();
  void end_connection(End end);

  Proxy& proxy_;
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // nothing: it speaks plain HTTP
  AddressLimit::Place const of_address_;
  std::string address_;
  bool const is_proxy_;  // one whose word about its clients holds
  std::uint32_t const place_;
  std::string in_;   // read and not used yet
  std::string out_;  // not taken by the socket yet
  std::size_t out_at_ = 0;
  relay::HeadScanner scanner_;
  std::unique_ptr<Exchange> exchange_;
  Upstream* upstream_ = nullptr;
  Deadline deadline_{*this};
  std::chrono::milliseconds lingers_since_{};
  Wait last_wait_ = Wait::linger;
  End end_ = End::keep;
  bool readable_ = false;
  bool half_closed_ = false;
  bool lingering_ = false;
  bool consuming_ = false;
  bool dead_ = false;
  Charge charge_;  // of what is read and what is to be written
};

}  // namespace lastcall::ingress
