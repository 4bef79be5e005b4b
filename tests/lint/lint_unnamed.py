"""What the unnamed namespaces of a file declare, read from formatted code like lint_cxx does."""

import re

from lint_cxx import code_of

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NAMESPACE = re.compile(r"^(?:inline\s+)?namespace(?:\s+(?P<name>[\w:]+))?$")
_TYPE = re.compile(r"^(?:template\s*@?)?(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)")
_VALUE = re.compile(r"(\w+)(?:\[[^\]]*\])?\s*(?:=.*)?$", re.DOTALL)


def _plain(text):
    """Without a template's parameters and attributes."""
    text = re.sub(r"\[\[.*?\]\]", "", text)
    count = 1
    while count:
        text, count = re.subn(r"<[^<>;{}()]*>", "", text)
    return " ".join(text.split())


def _without_names(parameters):
    """The types alone, as far as what is read shows them."""
    types = []
    for each in _plain(parameters).split(","):
        words = re.sub(r"=.*", "", each).strip()
        types.append(re.sub(r"(?<=[\w&*>] )\w+$|(?<=[&*])\w+$", "", words).strip())
    return ", ".join(types)


def _declared(head):
    """(name, parameters or None) of a declaration; None where it declares no name of its own."""
    if re.match(r"(using|friend|static_assert|extern|typedef|namespace|TEST\w*|\w+_P)\b", head):
        return None
    bare = _plain(head)
    if match := _TYPE.match(bare):
        return match.group(1), None
    call = re.search(r"(operator\S+|\w+)\s*\(", bare)
    equals = bare.find("=")
    if call and (equals < 0 or call.start() < equals):
        depth, at = 0, call.end() - 1
        for at in range(call.end() - 1, len(bare)):
            depth += {"(": 1, ")": -1}.get(bare[at], 0)
            if depth == 0:
                break
        return call.group(1), _without_names(bare[call.end() : at])
    match = _VALUE.search(bare[:equals] if equals > 0 else bare)
    return (match.group(1), None) if match else None


class _Reader:
    """Walks over braces; only what is right in an unnamed namespace is reported."""

    def __init__(self, code):
        self.code, self.found = code, []
        self.scopes, self.opened = [], []  # namespaces by name; other braces: is it a value's
        self.head = self.parentheses = 0

    def collect(self, at, only_values):
        if not self.scopes or self.scopes[-1] is not None or self.opened:
            return
        words = self.code[self.head : at]
        one = _declared(words.strip())
        if one and not (only_values and (one[1] is not None or _TYPE.match(words.strip()))):
            line = self.code.count("\n", 0, self.head + len(words) - len(words.lstrip())) + 1
            self.found.append(("::".join(filter(None, self.scopes)), *one, line))

    def open(self, at):
        words = " ".join(self.code[self.head : at].split())
        name = _NAMESPACE.match(words)
        if name and not self.opened:
            self.scopes.append(name.group("name"))
            self.head = at + 1
            return
        is_value = "=" in words and "operator" not in words and "(" not in words.split("=")[0]
        if not is_value:
            self.collect(at, only_values=False)
        self.opened.append(is_value)

    def close(self, at):
        if not self.opened:
            self.scopes and self.scopes.pop()
            self.head = at + 1
        elif not self.opened.pop() and not self.opened:
            self.head = at + 1

    def read(self):
        for match in re.finditer(r"[{}();]", self.code):
            at, sign = match.start(), match.group()
            self.parentheses += {"(": 1, ")": -1}.get(sign, 0)
            if self.parentheses or sign == ")":
                continue
            if sign == "{":
                self.open(at)
            elif sign == "}":
                self.close(at)
            elif not self.opened:
                self.collect(at, only_values=True)
                self.head = at + 1
        return self.found


def unnamed_names(text):
    """[(scope, name, parameters or None, line)]; what is only declared is left out."""
    code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code_of(text))
    return _Reader(code).read()
