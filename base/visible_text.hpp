// Text of strangers before the eyes of a person: names of models, ids of requests, output of hooks.
//
// What a terminal would obey is shown as JSON writes it (\u001b) instead of being sent to it: the
// C0 controls but tab, DEL, and the C1 controls in UTF-8. Source: ECMA-48; xterm's ctlseqs, 'C1
// (8-Bit) Control Characters'. Text that is not UTF-8 is for its caller to refuse.
//
// Thread rule: none is needed.
#pragma once

#include <string>
#include <string_view>

namespace lastcall {

bool is_visible(std::string_view text);

void append_visible(std::string& out, std::string_view text);
std::string visible(std::string_view text);

}  // namespace lastcall
