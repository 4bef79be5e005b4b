#include "supervisor/runtime/listener/requests_page.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "base/parse_number.hpp"

namespace lastcall::runtime {
namespace {

using Rows = std::vector<nlohmann::ordered_json>;
using View = lifecycle::RequestView;

/// The rest of the line needs room: an answer longer than a line could not be sent at all.
constexpr std::size_t kRoomOfPage = ipc::kMaxLine - 1024;
/// The room for the values that are added to the row of a relayed request: an address and three
/// numbers, with their keys.
constexpr std::size_t kRoomOfDelivery = 192;

/// The position at which a page of requests ended, written as "PEER:ID".
using Cursor = std::pair<ipc::PeerId, std::string>;

std::optional<Cursor> parse_cursor(std::string const& text) {
  std::size_t const colon = text.find(':');
  if (colon == std::string::npos || colon + 1 == text.size()) {
    return std::nullopt;
  }
  auto const peer = parse_number<ipc::PeerId>(std::string_view(text).substr(0, colon));
  return peer ? std::optional(Cursor{*peer, text.substr(colon + 1)}) : std::nullopt;
}

std::vector<View> views_after(StatusSources const& sources, std::optional<Cursor> const& first) {
  std::vector<View> views;
  sources.core.requests().for_each(
      [&](View const& view) {
        if (!first || Cursor{view.peer, view.id} > *first) {
          views.push_back(view);
        }
      },
      sources.core.endpoints());
  std::sort(views.begin(), views.end(), [](auto const& a, auto const& b) {
    return std::pair(a.peer, a.id) < std::pair(b.peer, b.id);
  });
  return views;
}

nlohmann::ordered_json row_of(StatusSources const& sources, View const& view,
                              lifecycle::Instant now) {
  constexpr std::array<char const*, 3> kStates{"live", "stopped", "killed"};
  nlohmann::ordered_json row{{"id", view.id},
                             {"root", view.root},
                             {"peer", peer_name(sources, view.peer)},
                             {"endpoint", view.endpoint},
                             {"model", view.model},
                             {"state", kStates[static_cast<std::size_t>(view.state)]}};
  if (view.reason) {
    row["reason"] = name(*view.reason);
  }
  row["age_ms"] = lifecycle::to_ms(now - view.began_at);
  row["waiting"] = view.standing == lifecycle::Standing::waiting;
  row["late"] = view.late;
  row["child"] = !view.parent.empty();
  if (!view.parent.empty()) {
    row["parent"] = view.parent;
  }
  return row;
}

std::string text_of_page(nlohmann::ordered_json const& json) {
  return json::dump(json);
}

/// The rows of the ingress are the last ones, because its number as a peer is the highest.
void put_deliveries(Rows& rows, ingress::Deliveries const& deliveries) {
  auto row = rows.end() - static_cast<std::ptrdiff_t>(deliveries.size());
  for (auto const& delivery : deliveries) {
    if (delivery) {
      if (!delivery->client.empty()) {
        (*row)["client"] = delivery->client;
      }
      (*row)["bytes_sent"] = delivery->bytes;
      if (delivery->events) {
        (*row)["events_sent"] = *delivery->events;
      }
      if (delivery->tokens) {
        (*row)["tokens"] = *delivery->tokens;
      }
    }
    ++row;
  }
}

}  // namespace

void report_requests(StatusSources const& sources, lifecycle::Instant now, std::string const& after,
                     std::size_t limit, AskDeliveries const& ask, ReportPage report) {
  std::optional<Cursor> const first = parse_cursor(after);
  if (!first && !after.empty()) {
    report(std::nullopt);
    return;
  }
  std::vector<View> const views = views_after(sources, first);
  auto rows = std::make_shared<Rows>();
  std::vector<std::string> relayed;
  std::size_t size = 0;
  for (View const& view : views) {
    bool const is_relayed = view.peer == lifecycle::kIngressPeer;
    nlohmann::ordered_json row = row_of(sources, view, now);
    size += text_of_page(row).size() + 1 + (is_relayed ? kRoomOfDelivery : 0);
    if (rows->size() == limit || size > kRoomOfPage) {
      break;
    }
    rows->push_back(std::move(row));
    if (is_relayed) {
      relayed.emplace_back(view.id);
    }
  }
  std::string next;
  if (!rows->empty() && rows->size() < views.size()) {
    View const& last = views[rows->size() - 1];
    next = std::to_string(last.peer) + ":" + std::string(last.id);
  }
  ask(std::move(relayed), [rows, next = std::move(next),
                           report = std::move(report)](ingress::Deliveries const& deliveries) {
    put_deliveries(*rows, deliveries);
    nlohmann::ordered_json json{{"requests", std::move(*rows)}};
    if (!next.empty()) {
      json["next"] = next;
    }
    report(text_of_page(json));
  });
}

}  // namespace lastcall::runtime
