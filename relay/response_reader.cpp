#include "relay/response_reader.hpp"

#include <algorithm>

namespace lastcall::relay {

bool ResponseReader::fail() {
  kResponseMoves.apply(state_, ResponseEvent::fault);
  return false;
}

bool ResponseReader::read_head(std::span<char> bytes, Asked const& asked, ReadHead& read) {
  read.text = {bytes.data(), bytes.size()};
  read.earlier = part_ ? part_->text.size() : 0;
  if (part_) {
    read.text = part_->text.append(read.text);
  }
  HeadScanner begins;
  HeadScanner& scanner = part_ ? part_->scanner : begins;
  HeadScanner::Found const found = scanner.scan(read.text);
  if (found == HeadScanner::Found::incomplete && read.text.size() <= kMaxResponseHead) {
    if (!part_) {
      part_ = std::make_unique<Part>(Part{.text = std::string(read.text), .scanner = begins});
    }
    return false;
  }
  if (found != HeadScanner::Found::complete) {
    return fail();
  }
  read.length = scanner.length();
  bool const is_bad = parse_response_head(read.text.substr(0, read.length), read.head) ||
                      response_framing(read.head, asked.is_head ? "HEAD" : "", framing_) ||
                      (read.head.status == 101 && !asked.is_upgrade);
  return is_bad ? fail() : true;
}

std::span<char> ResponseReader::read_on(std::span<char> bytes, ReadHead const& read) {
  ResponseHead const& head = read.head;
  std::span<char> const rest = bytes.subspan(read.length - read.earlier);
  if (head.status >= 200) {
    keeps_alive_ = head.version == Version::http11 ? !head.connection.has("close")
                                                   : head.connection.has("keep-alive");
  }
  kResponseMoves.apply(state_, kind_of(head));
  spoil_if_more(rest);
  put_back();
  return rest;
}

ResponseEvent ResponseReader::kind_of(ResponseHead const& head) const {
  if (head.status == 101) {
    return ResponseEvent::switched;
  }
  if (head.status < 200) {
    return ResponseEvent::interim;
  }
  return framing_.kind == Framing::Kind::none ? ResponseEvent::no_body : ResponseEvent::body;
}

void ResponseReader::spoil_if_more(std::span<char> rest) {
  if (state_ == ResponseState::complete && !rest.empty()) {
    spoil();
  }
}

void ResponseReader::put_back() {
  part_.reset();
}

std::string_view ResponseReader::read_body(std::span<char>& bytes) {
  std::string_view payload;
  switch (framing_.kind) {
    case Framing::Kind::length: {
      auto const size =
          static_cast<std::size_t>(std::min<std::uint64_t>(framing_.length, bytes.size()));
      framing_.length -= size;
      payload = {bytes.data(), size};
      bytes = bytes.subspan(size);
      if (framing_.length == 0) {
        end();
      }
      break;
    }
    case Framing::Kind::chunked: {
      ChunkDecoder::Step const step = chunks_.decode(bytes);
      payload = {bytes.data(), step.payload};
      bytes = bytes.subspan(step.consumed);
      if (step.state == ChunkDecoder::State::done) {
        end();
      } else if (step.state == ChunkDecoder::State::bad) {
        fail();
        bytes = {};
      }
      break;
    }
    case Framing::Kind::until_close:
      payload = {bytes.data(), bytes.size()};
      bytes = {};
      break;
    case Framing::Kind::none:
      bytes = {};
      break;
  }
  spoil_if_more(bytes);
  return payload;
}

}  // namespace lastcall::relay
