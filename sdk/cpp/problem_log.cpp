#include "sdk/cpp/problem_log.hpp"

#include <iostream>
#include <utility>

namespace lastcall::sdk {

ProblemLog::ProblemLog(std::function<void(std::string const&)> sink) : sink_(std::move(sink)) {}

void ProblemLog::operator()(std::string const& text) const {
  if (sink_) {
    sink_(text);
  } else {
    std::cerr << "lastcall: " + text + "\n";
  }
}

void ProblemLog::in_a_row(std::string text) {
  if (text != last_) {
    last_ = std::move(text);
    (*this)(last_);
  }
}

}  // namespace lastcall::sdk
