#include "router/routed_request.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "ingress/client_connection.hpp"
#include "relay/head_writer.hpp"
#include "relay/http_text.hpp"
#include "router/affinity.hpp"
#include "router/answers.hpp"
#include "router/errors.hpp"
#include "router/large_bodies.hpp"
#include "router/no_worker.hpp"
#include "router/parts.hpp"
#include "router/rejected.hpp"

namespace lastcall::router {

using ingress::Wait;
using lifecycle::Outcome;

namespace {

std::string_view only(relay::Fields const& fields, std::string_view name) {
  std::string_view value;
  return fields.count(name, value) == 1 ? value : std::string_view();
}

std::string id_of(Parts& parts, relay::Fields const& fields) {
  std::string_view const wanted = only(fields, "x-request-id");
  return ingress::is_usable_id(wanted) ? std::string(wanted) : parts.ids.make();
}

/// A client that requests an upgrade and gets an ordinary answer continues without the upgrade.
relay::Asked without_upgrade(relay::Asked asked) {
  asked.is_upgrade = false;
  return asked;
}

bool is_written_anew(std::string_view name) {
  return relay::http_text::same(name, "content-length") ||
         relay::http_text::same(name, "x-lastcall-parent") ||
         relay::http_text::same(name, "x-lastcall-migration") ||
         relay::http_text::same(name, "x-lastcall-router") ||
         // Compressed events cannot be separated.
         relay::http_text::same(name, "accept-encoding");
}

/// Whether no worker serves the model now, and its last one left a short time ago.
bool has_departed(Parts const& parts, std::string_view model) {
  return !parts.fleet.knows(model) && parts.departed.holds(model, monotonic_time());
}

}  // namespace

RoutedRequest::RoutedRequest(Parts& parts, ingress::RequestClient const& client,
                             relay::TakenHead const& taken)
    : call_{.parts = parts,
            .client = &client.owner,
            .head = LegHead(id_of(parts, taken.head.fields)),
            .body = RequestBody(taken.framing),
            .place = client.place,
            .asked = without_upgrade(taken.asked)},
      legs_(*this, call_) {
  Route route = route_of(taken.head.method, taken.destination.target);
  call_.route = route;
  call_.wanted.model = std::move(route.model);
}

void RoutedRequest::prepare(relay::TakenHead const& taken, ingress::RequestClient const& client) {
  relay::RequestHead head = taken.head;
  head.fields.clear();
  for (relay::Field const& field : taken.head.fields) {
    if (!is_written_anew(field.name)) {
      head.fields.add(field);
    }
  }
  call_.is_form = is_form(only(taken.head.fields, "content-type"));
  std::string lines;
  relay::write_request_head(lines, head, taken.destination,
                            {.request_id = call_.id(),
                             .client = client.address,
                             .scheme = client.scheme,
                             .is_proxy = client.is_proxy,
                             .keeps_underscores = parts().options.keeps_underscores,
                             .omits_sender = !client.is_proxy});
  lines.resize(lines.rfind("X-Request-Id: "));  // each leg has its own id
  Choosing const& choosing = parts().settings.choosing;
  if (choosing.affinity == Affinity::header) {
    std::string_view const value = only(taken.head.fields, choosing.affinity_header);
    call_.set_affinity(value.empty() ? std::nullopt : std::optional(stable_hash(value)));
  }
  call_.forbids_migration = only(taken.head.fields, "x-lastcall-migration") == "never";
  // If this router is behind another router, the parent is what the first router was given. No
  // request is its own parent.
  std::string_view const parent = only(taken.head.fields, "x-lastcall-parent");
  call_.head.set(std::move(lines), parent);
}

void RoutedRequest::start() {
  switch (call_.route.routed) {
    case Routed::no:
      answer(append_not_routed);
      return;
    case Routed::list_of_models:
      answer([this](std::string& out, Answering const& how) {
        append_models(out, parts().fleet.models(), how);
      });
      return;
    case Routed::one_model:
      show_model();
      return;
    case Routed::to_a_worker:
      break;
  }
  if (call_.body.is_whole()) {
    route();
  } else {
    client()->connection().wait_for(Wait::body);
    call_.body.await(monotonic_time());
  }
}

void RoutedRequest::show_model() {
  std::string const& model = call_.wanted.model;
  bool const is_listed = parts().fleet.announces(model);
  if (!is_listed && parts().fleet.workers().empty()) {
    refuse(no_worker());
  } else if (!is_listed && has_departed(parts(), model)) {
    refuse(last_worker_left());
  } else {
    answer([&](std::string& out, Answering const& how) {
      auto const append = is_listed ? append_model : append_model_not_found;
      append(out, model, how);
    });
  }
}

std::size_t RoutedRequest::take(std::span<char> bytes) {
  RequestBody::Taken const taken = call_.body.take(
      bytes, monotonic_time(),
      {.size = parts().settings.limits.max_body_size, .silence = parts().settings.timeouts.client});
  if (taken.fault) {
    bool const is_scarce = taken.fault.status == RequestBody::kNoMemory;
    break_off(
        is_scarce ? relay::no_memory() : relay::bad_request(taken.fault.status, taken.fault.what),
        Outcome::error);
    return 0;
  }
  start();
  return taken.used;
}

std::size_t RoutedRequest::unfinished() const {
  return call_.body.takes_more() ? call_.body.text().size() : 0;
}

void RoutedRequest::read_body() {
  call_.wanted = wanted_of(call_.body.text(), call_.is_form);
  Choosing const& choosing = parts().settings.choosing;
  if (choosing.affinity == Affinity::prefix) {
    call_.set_affinity(prefix_key(call_.body.text(), choosing.affinity_bytes));
  }
}

/// Called when the body is complete: decides which worker gets the request.
void RoutedRequest::route() {
  std::string of_path = std::move(call_.wanted.model);
  if (!has_memory_for([this] { read_body(); })) {
    refuse(relay::no_memory());
    return;
  }
  Wanted& wanted = call_.wanted;
  RouteKind& route = call_.route;
  if (!of_path.empty()) {
    wanted.model = std::move(of_path);
  }
  if (route.endpoint() == "responses" && !wanted.is_kept) {
    route.repeat = Repeat::always;
  }
  std::vector<std::string> const& models = parts().fleet.models();
  bool const is_ambiguous = wanted.model.empty() && models.size() > 1;
  if (wanted.model.empty() && models.size() == 1) {
    wanted.model = models.front();
  }
  call_.is_announced = parts().fleet.announces(wanted.model);
  call_.standing = Standing::counted;
  parts().live.push_back(*this);
  parts().metrics.began(call_.label());
  call_.is_queued = true;
  bool const is_empty = parts().fleet.workers().empty();
  if (is_ambiguous) {
    call_.error_type = ErrorType::validation;
    answer(append_model_missing);
  } else if (!is_empty && has_departed(parts(), wanted.model)) {
    refuse(last_worker_left());
  } else if (!is_empty && !parts().fleet.knows(wanted.model)) {
    call_.error_type = ErrorType::not_found;
    answer([&](std::string& out, Answering const& how) {
      append_model_not_found(out, wanted.model, how);
    });
  } else if (wanted.continues_response && route.endpoint() == "responses" &&
             parts().fleet.workers().size() > 1) {
    call_.error_type = ErrorType::validation;
    answer(append_not_its_worker);
  } else if (auto const excess = parts().fleet.busy(wanted.model, monotonic_time())) {
    parts().metrics.rejected(call_.label(), route.endpoint());
    refuse(all_busy(*excess, parts().ids.draw()));
  } else {
    client()->connection().wait_for_nothing();
    legs_.start();
  }
}

// --- its end -------------------------------------------------------------------------------------

template <class Append>
void RoutedRequest::answer(Append const& append) {
  if (!call_.body.is_whole()) {  // its rest would be read as the next request
    call_.after = relay::After::linger;
  } else if (!call_.asked.keeps_alive || call_.asked.version == relay::Version::http10 ||
             parts().departure.is_closing(call_.place)) {
    call_.after = relay::After::close;
  }
  std::string response;
  append(response, Answering{.request_id = call_.id(),
                             .close = call_.after != relay::After::keep,
                             .head_only = call_.asked.is_head});
  call_.delivery.cut();
  write_and_end(response);
}

void RoutedRequest::refuse(relay::Refusal const& refusal) {
  legs_.drop();
  parts().observer.refused(refusal);
  call_.error_type = error_type_of(refusal.status, refusal.type);
  answer([&](std::string& out, Answering const& how) {
    relay::append_refusal(out, refusal, {call_.id(), 0, 0}, how.close, how.head_only);
  });
}

void RoutedRequest::break_off(relay::Refusal const& refusal, Outcome /*outcome*/) {
  if (has_sent_nothing()) {
    refuse(refusal);
    return;
  }
  legs_.drop();
  if (!relay::is_whole(call_.delivery)) {
    call_.error_type = ErrorType::internal;
    call_.after = relay::After::close;
  }
  std::string last;
  continuation::Continuation const* const story = legs_.story();
  if (story != nullptr &&
      story->known().is_inside_event) {  // an error would become a part of that event
    bool const is_chunked = call_.delivery.coding() == relay::Delivery::Coding::chunked;
    call_.delivery.cut();
    client()->connection().drop_output(is_chunked ? relay::Farewell::silence
                                                  : relay::Farewell::reset);
  } else {
    std::uint64_t const events = std::max(story != nullptr ? story->events() : 0,
                                          std::as_const(call_.delivery).events().events());
    client()->connection().drop_output(call_.delivery.cut(refusal, call_.id(), events, last));
  }
  write_and_end(last);
}

void RoutedRequest::write_and_end(std::string_view bytes) {
  client()->connection().write(bytes);
  if (client() != nullptr && client()->connection().is_flushed()) {
    end();
  }
}

void RoutedRequest::flushed() {
  if (call_.delivery.is_over()) {
    end();
  } else {
    client()->connection().wait_for_nothing();
    legs_.flushed();
  }
}

void RoutedRequest::client_left(bool has_taken_all) {
  // Many clients close at [DONE] and do not wait for the end of the body.
  bool const has_its_end = has_taken_all && call_.delivery.events().has_sent_done();
  if (call_.standing == Standing::counted && !call_.delivery.is_over() && !has_its_end) {
    call_.error_type = ErrorType::cancelled;
    parts().metrics.client_left(call_.label(), call_.route.endpoint(), call_.wanted.stream);
  }
  call_.after = relay::After::close;
  end();
}

void RoutedRequest::shed() {
  call_.error_type = ErrorType::overload;
  call_.after = relay::After::close;
  call_.delivery.cut();
  client()->connection().drop_output(relay::Farewell::reset);
  end();
}

void RoutedRequest::abandon() {
  if (!call_.delivery.is_over()) {
    call_.error_type = ErrorType::cancelled;
  }
  retire();
}

void RoutedRequest::retire() {
  legs_.drop();
  if (std::exchange(call_.standing, Standing::over) == Standing::counted) {
    leave_ring();
    if (std::exchange(call_.is_queued, false)) {
      parts().metrics.taken(call_.label());
    }
    if (call_.moving) {
      bool const has_left = call_.error_type == ErrorType::cancelled;
      parts().metrics.moved(*call_.moving, has_left ? Moved::cancelled : Moved::failed);
    }
    parts().metrics.finished({.model = call_.label(),
                              .endpoint = call_.route.endpoint(),
                              .is_stream = call_.wanted.stream,
                              .error_type = name(call_.error_type),
                              .took = Call::Clock::now() - call_.began_at});
  }
}

void RoutedRequest::end() {
  retire();
  std::exchange(call_.client, nullptr)->ended(call_.after);
}

std::size_t RoutedRequest::held() const {
  return sizeof *this + call_.head.capacity() + call_.body.capacity() + call_.delivery.capacity() +
         legs_.capacity();
}

}  // namespace lastcall::router
