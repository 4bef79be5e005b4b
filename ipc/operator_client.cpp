#include "ipc/operator_client.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "base/error_text.hpp"
#include "ipc/codec.hpp"

namespace lastcall::ipc {
namespace {

using Clock = std::chrono::steady_clock;

std::string text_of(Error const& error) {
  return error.message + " (" + std::string(name(error.code)) + ")";
}

/// Only a broken supervisor would send more unsolicited lines than this.
constexpr std::size_t kMaxKept = 1024;

}  // namespace

OperatorClient::Deadline OperatorClient::deadline_of(Timeout timeout) {
  return timeout ? Deadline(Clock::now() + *timeout) : std::nullopt;
}

Failure OperatorClient::failed(std::string_view what, std::string_view why) const {
  return {"cannot " + std::string(what) + " " + path_ + ": " + std::string(why), std::nullopt};
}

std::variant<OperatorClient, Failure> OperatorClient::connect(std::string const& path,
                                                              std::string_view name,
                                                              Timeout timeout) {
  auto const deadline = deadline_of(timeout);
  auto connected = connect_to(path, timeout);
  if (auto* const problem = std::get_if<std::string>(&connected)) {
    return Failure{std::move(*problem), std::nullopt};
  }
  OperatorClient client(std::move(std::get<Descriptor>(connected)), path);
  if (auto failure = client.greet(name, deadline)) {
    return *std::move(failure);
  }
  return client;
}

std::optional<Failure> OperatorClient::greet(std::string_view name, Deadline deadline) {
  Hello hello;
  hello.role = Role::operator_;
  hello.name = name;
  std::string line;
  if (!encode(ToSupervisor(hello), std::nullopt, line)) {
    return failed("speak to", "the name is too long");
  }
  // A supervisor that refuses us may close before it reads; its reason can still be read.
  auto unwritten = write(line, deadline);
  auto answer = read(deadline);
  if (auto* const failure = std::get_if<Failure>(&answer)) {
    return unwritten ? unwritten : std::move(*failure);
  }
  auto const& message = std::get<FromSupervisor>(answer);
  if (auto const* const error = std::get_if<Error>(&message)) {
    return Failure{"cannot speak to " + path_ + ": " + text_of(*error), error->code};
  }
  if (auto const* const welcome = std::get_if<Welcome>(&message)) {
    welcome_ = *welcome;
    return std::nullopt;
  }
  return failed("speak to", "expected a welcome, got '" + std::string(op_of(message)) + "'");
}

std::variant<std::string, Failure> OperatorClient::request(ToSupervisor const& message,
                                                           Timeout timeout) {
  Deadline const deadline = deadline_of(timeout);
  std::uint64_t const seq = ++last_seq_;
  std::string line;
  if (!encode(message, seq, line)) {
    return failed("ask", "the request exceeds a limit of the protocol");
  }
  if (auto failure = write(line, deadline)) {
    return *std::move(failure);
  }
  while (true) {
    auto answer = read(deadline);
    if (auto* const failure = std::get_if<Failure>(&answer)) {
      return std::move(*failure);
    }
    auto& answered = std::get<FromSupervisor>(answer);
    if (auto* const ack = std::get_if<Ack>(&answered); ack != nullptr && ack->seq == seq) {
      return std::move(ack->result);
    }
    // An error without a seq comes before a close, so it concerns the whole connection.
    if (auto const* const error = std::get_if<Error>(&answered);
        error != nullptr && error->seq.value_or(seq) == seq) {
      return Failure{text_of(*error), error->code};
    }
    if (kept_.size() < kMaxKept) {
      kept_.push_back(std::move(answered));
    }
  }
}

std::variant<FromSupervisor, Failure> OperatorClient::next(Timeout timeout) {
  if (kept_.empty()) {
    return read(deadline_of(timeout));
  }
  FromSupervisor message = std::move(kept_.front());
  kept_.pop_front();
  return message;
}

std::optional<Failure> OperatorClient::wait(short events, Deadline deadline) const {
  pollfd waited{socket_.get(), events, 0};
  while (true) {
    int ms = -1;
    if (deadline) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      ms = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30));
    }
    int const ready = ::poll(&waited, 1, ms);
    if (ready > 0) {
      return std::nullopt;
    }
    if (ready == 0) {
      return failed("get an answer from", "no answer came in time");
    }
    if (errno != EINTR) {
      return failed("wait for", error_text(errno));
    }
  }
}

std::optional<Failure> OperatorClient::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t const size =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      if (auto failure = wait(POLLOUT, deadline)) {
        return failure;
      }
    } else if (errno != EINTR) {
      return failed("write to", error_text(errno));
    }
  }
  return std::nullopt;
}

std::variant<FromSupervisor, Failure> OperatorClient::read(Deadline deadline) {
  while (true) {
    if (auto const line = lines_.next_line()) {
      auto decoded = decode_from_supervisor(*line);
      if (auto* const incoming = std::get_if<Incoming<FromSupervisor>>(&decoded)) {
        return std::move(incoming->message);
      }
      auto const& problem = std::get<DecodeError>(decoded);
      if (problem.code == ErrorCode::unknown_op) {
        continue;  // a newer supervisor may send messages that we do not know
      }
      return failed("understand", problem.message);
    }
    if (lines_.is_overflowing()) {
      return failed("understand", "a line is longer than the protocol allows");
    }
    if (auto failure = wait(POLLIN, deadline)) {
      return *std::move(failure);
    }
    std::span<char> const room = lines_.prepare();
    ssize_t const size = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (size > 0) {
      lines_.commit(static_cast<std::size_t>(size));
    } else if (size == 0) {
      return failed("read from", "the supervisor closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
      return failed("read from", error_text(errno));
    }
  }
}

}  // namespace lastcall::ipc
