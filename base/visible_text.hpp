// Makes text from outside safe to show to a person: model names, request ids, the output of hooks.
//
// Characters that a terminal would obey are printed as JSON escapes (\u001b) instead of being sent
// to it: the C0 controls except tab, DEL, and the C1 controls in UTF-8. The caller refuses text
// that is not UTF-8. Source: ECMA-48; xterm's ctlseqs, 'C1 (8-Bit) Control Characters'.
//
// Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>

namespace lastcall {

bool is_visible(std::string_view text);

void append_visible(std::string& out, std::string_view text);
std::string visible(std::string_view text);

}  // namespace lastcall
