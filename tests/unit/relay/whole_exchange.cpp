#include "tests/unit/relay/whole_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lastcall::relay::test {
namespace {

using std::chrono::milliseconds;

class World final : public Surroundings {
 public:
  explicit World(Script const& script) : script_(script) {}
  bool engine_may_be_dying() const override { return script_.engine_may_be_dying; }
  bool is_closing() const override { return script_.is_closing; }

 private:
  Script const& script_;
};

class Drive {
 public:
  Drive(Script const& script, Split const& of_request, Split const& of_response)
      : script_(script),
        world_(script),
        sent_(of_request.pieces(script.request)),
        answered_(of_response.pieces(
            std::string_view(script.response).substr(0, script.cut_after.value_or(npos)))) {}

  Result run() {
    if (!read_request()) {
      return std::move(result_);
    }
    for (std::string& piece : answered_) {
      if (exchange_->delivery().is_over() || exchange_->response().is_malformed()) {
        break;
      }
      accept(exchange_->receive(piece, tick(), world_, result_.wire));
      if (exchange_->response().held_back().error() != nullptr && !script_.dies) {
        accept(exchange_->let_through(tick(), world_, result_.wire));
      } else if (exchange_->response().held_back().error() != nullptr) {
        cut(engine_failed());
      }
    }
    end();
    note();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t npos = std::string_view::npos;

  milliseconds tick() { return now_ += milliseconds(1); }

  bool read_request() {
    RequestReader reader;
    std::string seen;
    auto piece = sent_.begin();
    for (; piece != sent_.end() && !exchange_; ++piece) {
      seen += *piece;
      TakenHead taken;
      switch (reader.read(seen, {.head = 32 * 1024, .body = {}}, taken)) {
        case RequestReader::Found::incomplete:
          break;
        case RequestReader::Found::refused:
          result_.refused = taken.fault.status;
          return false;
        case RequestReader::Found::complete:
          exchange_.emplace("r1", taken.framing, taken.asked);
          seen.erase(0, taken.length);
          break;
      }
    }
    if (!exchange_) {
      return false;
    }
    take(seen);
    for (; piece != sent_.end(); ++piece) {
      take(*piece);
    }
    return result_.refused == 0;
  }

  void take(std::string bytes) {
    RequestSide& request = exchange_->request();
    if (request.state() == RequestState::body && !bytes.empty()) {
      RequestSide::Taken const taken = request.take(bytes, tick(), {});
      result_.refused = taken.fault.status;
      bytes.erase(0, taken.used);
    }
    if (request.is_done()) {
      result_.rest += bytes;
    }
  }

  void accept(Received const& received) {
    result_.first_bytes += received.first_byte ? 1 : 0;
    result_.held = result_.held || received.holds;
    has_more_ = has_more_ || received.has_more;
    last_ = received;
  }

  void cut(Refusal const& refusal) {
    result_.events = exchange_->response().events_sent();
    result_.farewell = exchange_->cut(refusal, lifecycle::Outcome::cancelled, world_, result_.wire);
  }

  void end() {
    if (exchange_->delivery().is_over()) {
      return;
    }
    if (script_.cut_after) {
      cut(cut_by(lifecycle::CancelReason::migrate));
    } else if (exchange_->response().is_malformed()) {
      exchange_->response().failed();
      cut(malformed_response());
    } else if (script_.engine_ends) {
      ResponseSide::Ending const ending = exchange_->response().ended(script_.engine_ends_in_order);
      if (ending == ResponseSide::Ending::by_close) {
        exchange_->response().finish(result_.wire);
      } else if (ending == ResponseSide::Ending::failed) {
        cut(engine_failed());
      }
    }
  }

  void note() {
    exchange_->request().to_engine().took(0);
    result_.to_engine = exchange_->request().to_engine().bytes();
    exchange_->request().to_engine().forget();  // as the engine has taken it
    result_.request = exchange_->request().state();
    result_.leg = exchange_->response().leg().state();
    result_.delivery = exchange_->delivery().state();
    result_.after = exchange_->after();
    result_.outcome = exchange_->outcome();
    result_.events = result_.farewell ? result_.events : exchange_->response().events_sent();
    result_.bytes = exchange_->delivery().bytes_sent();
    last_.has_more = has_more_;
    result_.leg_is_clean = exchange_->leg_is_clean(last_);
  }

  Script const& script_;
  World const world_;
  std::vector<std::string> sent_;
  std::vector<std::string> answered_;
  std::optional<Exchange> exchange_;
  Received last_;
  bool has_more_ = false;
  milliseconds now_{1'000};
  Result result_;
};

/// The value of a field of `head`, in its own letters; empty: there is none.
std::string_view field(std::string_view head, std::string_view name) {
  std::size_t const at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view const value = head.substr(at + name.size() + 4);
  return value.substr(0, value.find("\r\n"));
}

}  // namespace

std::vector<std::string> Split::pieces(std::string_view bytes) const {
  std::vector<std::string> all;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= bytes.size(); ++end) {
    bool const is_multiple = step != 0 && end % step == 0;
    bool const is_named = std::find(at.begin(), at.end(), end) != at.end();
    if (is_multiple || is_named || end == bytes.size()) {
      all.emplace_back(bytes.substr(begin, end - begin));
      begin = end;
    }
  }
  return all;
}

Result run(Script const& script, Split const& of_request, Split const& of_response) {
  return Drive(script, of_request, of_response).run();
}

bool unchunk(std::string_view bytes, std::string& payload) {
  while (true) {
    std::size_t const line = bytes.find("\r\n");
    if (line == std::string_view::npos) {
      return false;
    }
    std::size_t const size = std::stoul(std::string(bytes.substr(0, line)), nullptr, 16);
    bytes.remove_prefix(line + 2);
    if (size == 0) {
      return bytes == "\r\n";
    }
    payload += bytes.substr(0, size);
    if (bytes.size() < size + 2) {
      return false;
    }
    bytes.remove_prefix(size + 2);
  }
}

Read read_final(std::string_view wire, bool is_head) {
  Read read;
  while (!wire.empty()) {
    std::size_t const end = wire.find("\r\n\r\n");
    read.head = wire.substr(0, end + 2);
    read.status = static_cast<unsigned>(std::stoul(read.head.substr(9, 3)));
    wire.remove_prefix(end + 4);
    if (read.status >= 200 || read.status == 101) {
      break;
    }
  }
  std::string_view const length = field(read.head, "Content-Length");
  if (read.head.find("\r\nTransfer-Encoding: chunked\r\n") != std::string::npos) {
    read.is_complete = unchunk(wire, read.payload);
  } else if (is_head || read.status == 204 || read.status == 304) {
    read.payload = wire;
    read.is_complete = wire.empty();
  } else if (!length.empty()) {
    read.payload = wire;
    read.is_complete = wire.size() == std::stoul(std::string(length));
  } else {
    read.payload = wire;
    read.ends_with_connection = true;
  }
  return read;
}

}  // namespace lastcall::relay::test
