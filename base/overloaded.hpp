// A visitor of a std::variant, made of one function for each alternative.
#pragma once

namespace lastcall {

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace lastcall
