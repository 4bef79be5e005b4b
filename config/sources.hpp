// The sources of a configuration, decoded one on top of the other onto the rows of a key table: the
// file, the variables that the table names, `--set` in the order given.
//
// The rules of load.hpp apply, which states them for the supervisor's configuration. Reads the one
// file; no thread rule.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/decode.hpp"
#include "config/document.hpp"
#include "config/environment.hpp"
#include "config/keys.hpp"
#include "config/load.hpp"
#include "config/problem.hpp"

namespace lastcall::config {

class Sources {
 public:
  /// Returns the rows, bound to the values that are decoded.
  using Bind = std::function<Keys()>;

  /// The environment variable `variable` names the file if no option does. All arguments outlive
  /// this object.
  Sources(LoadOptions const& options, Environment const& environment, char const* variable,
          Bind keys, Problems& errors);

  void load();
  /// The file that was read; empty if there was none.
  std::string const& source() const { return source_; }
  Places const& places() const { return places_; }

 private:
  void load_file();
  void load_variables();
  void decode_variable(std::string_view path, Node const& root);
  void load_override(std::string const& text);
  bool takes_yaml(std::string_view path);
  void decode_onto(Node const& root);

  LoadOptions const& options_;
  Environment const& environment_;
  char const* const variable_;
  Bind const keys_;
  Problems& errors_;
  std::string source_;
  Places places_;
};

}  // namespace lastcall::config
