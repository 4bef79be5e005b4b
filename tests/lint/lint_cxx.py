"""Just enough C++: text without comments and strings, includes, functions and their lengths.

No parser: the code is formatted by clang-format, so that a scan for braces finds every function
that this tree can contain. What it must distinguish is in test_length.py.
"""

import functools
import re
from dataclasses import dataclass

_TOKENS = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> (?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)" )
  | (?P<string> "(?:\\.|[^"\\\n])*" )
  | (?P<char> (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _without(token):
    if token.group("comment"):
        return _blank(token.group())
    return '"' + _blank(token.group()[1:-1]) + '"'


@functools.cache
def code_of(text):
    """The text with comments and the insides of strings blanked; every line keeps its number."""
    return _TOKENS.sub(_without, text)


@functools.cache
def includes_of(text):
    """[(line, 'angle' or 'quote', name)] of the includes, commented ones left out."""
    comments_gone = _TOKENS.sub(
        lambda token: _blank(token.group()) if token.group("comment") else token.group(), text
    )
    return [
        (
            comments_gone.count("\n", 0, match.start()) + 1,
            "angle" if match.group(1) == "<" else "quote",
            match.group(2),
        )
        for match in _INCLUDE.finditer(comments_gone)
    ]


@dataclass
class Function:
    name: str
    first_line: int
    last_line: int

    @property
    def length(self):
        return self.last_line - self.first_line + 1


def _bare(head):
    """A head with each pair of parentheses as one '@', and without a template's parameters."""
    count = 1
    while count:
        head, count = re.subn(r"\([^()]*\)", "@", head)
    return re.sub(r"\btemplate\s*<[^<>]*>", "", head).strip()


def _kind(head):
    """What a brace opens, by the text since the last statement ended."""
    bare = _bare(head)
    if re.search(r"^(inline\s+)?namespace\b|^extern\s*\"", bare):
        return "scope"
    if "@" not in bare:
        return "scope" if re.search(r"\b(class|struct|union|enum)\b", bare) else "value"
    if "operator" not in bare and "=" in bare:
        return "value"
    has_initialisers = re.search(r"(?<!:):(?!:)", bare[bare.index("@") :])
    if has_initialisers and re.search(r"[\w>]$", bare):
        return "value"  # a member's braces in a constructor's list; the body comes after
    return "function"


def functions_of(text):
    """Every function that has a body, lambdas within them not counted apart."""
    code = _DIRECTIVE.sub(lambda match: _blank(match.group()), code_of(text))
    found = []
    opened = []  # (kind, where its head began) of each brace that is open
    head = 0
    parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        at, sign = match.start(), match.group()
        kinds = [kind for kind, _ in opened]
        if sign in "()":
            parentheses += 1 if sign == "(" else -1
            if not parentheses and _is_macro_call(code, head, at):
                head = at + 1
        elif sign == "{":
            plain = "function" in kinds or "value" in kinds or parentheses
            kind = "value" if plain else _kind(code[head:at])
            opened.append((kind, head))
            head = at + 1 if kind == "scope" else head
        elif sign == "}" and opened:
            kind, start = opened.pop()
            if kind == "function":
                found.append(_function(code, start, at))
            head = at + 1 if kind != "value" else head
        elif sign == ";" and not parentheses and "value" not in kinds:
            head = at + 1
    return found


def _is_macro_call(code, head, at):
    """A macro's call that stands alone: no body follows it, as it does TEST(...)."""
    is_macro = re.match(r"\s*[A-Z][A-Z_]+\s*\(", code[head:at])
    return is_macro and not code[at + 1 :].lstrip().startswith("{")


def _function(code, start, end):
    start += len(code[start:]) - len(code[start:].lstrip())
    name = re.search(r"([\w:~]+|operator\S+)\s*\(", code[start:end])
    return Function(
        name=name.group(1) if name else "?",
        first_line=code.count("\n", 0, start) + 1,
        last_line=code.count("\n", 0, end) + 1,
    )
