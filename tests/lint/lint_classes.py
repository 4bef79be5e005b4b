"""What the classes of the product declare: members, data, friends, and the files that define them.

A member is a function (each overload by itself) or a field that the class itself declares; types
that are nested in it, aliases and enumerators are none, nested classes are counted by themselves.
A friend is a class of another file. It reads as lint_cxx does: no parser, the code is formatted by
clang-format. `python3 tests/lint/lint_classes.py [FOLDER...]` prints the largest classes.
"""

import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field

from lint_cxx import _DIRECTIVE, _blank, code_of
from lint_tree import PRODUCT, files, read

_ACCESS = re.compile(r"^(?:\s*(?:public|private|protected)\s*:)+")
_TYPE = re.compile(
    r"^(?:template\s*<.*?>\s*)?(class|struct|union)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)"
    r"(?:<[^<>]*>)?(?:\s+final)?\s*(?::(?!:).*)?$",
    re.DOTALL,
)
_NO_MEMBER = re.compile(r"^(using|typedef|static_assert|template\s+class)\b")
_DEFINITION = re.compile(r"\b((?:\w+::)+)(?:~?\w+|operator\W{1,3})\s*\(")


@dataclass
class Class:
    name: str  # with the names of the classes around it
    path: str
    line: int
    functions: int = 0
    data: int = 0
    friends: list = field(default_factory=list)
    sources: set = field(default_factory=set)  # .cpp files that define functions of it

    @property
    def members(self):
        return self.functions + self.data


def _plain(text):
    return _DIRECTIVE.sub(lambda match: _blank(match.group()), code_of(text))


def _collapsed(text, opening, closing):
    """Balanced pairs of signs with nothing between them."""
    out, depth = [], 0
    for sign in text:
        if sign == opening:
            depth += 1
            out.append(sign if depth == 1 else "")
        elif sign == closing:
            depth -= 1
            out.append(sign if depth == 0 else "")
        elif depth == 0:
            out.append(sign)
    return "".join(out)


def _count(head, into):
    """One declaration of a class: counted as a function or as data."""
    head = _ACCESS.sub("", head).strip()
    if not head or _NO_MEMBER.match(head):
        return
    if head.startswith("friend"):
        named = re.match(r"friend\s+(?:class|struct)\s+([\w:]+)$", head)
        into.friends += [named.group(1)] if named else []  # a function's body is the class's own
        return
    bare = re.sub(r"^template\s*<[^()]*?>\s*", "", head)
    bare = re.sub(r"^requires\s+[^;]*?>\s*", "", bare)
    bare = _collapsed(_collapsed(bare, "{", "}"), "(", ")")
    bare = re.sub(r"(?<!operator)(?<![=!<>])=(?!=).*$", "", bare, flags=re.DOTALL)
    if re.match(r"^(class|struct|union|enum)\b[\s\w:\[\]]*(\{\})?\s*$", bare):
        return  # a type, declared or defined
    if re.search(r"[\w>=!<+*\-\]]\s*\(\)", bare) and not _is_function_object(bare):
        into.functions += 1
    else:
        into.data += 1  # one declarator each, which clang-tidy holds


def _is_function_object(bare):
    """std::function<void()> x; the parentheses are the type's."""
    return re.search(r"\(\)[^;]*>\s*[&*]?\s*\w+\s*(\{\})?\s*$", bare) is not None


def classes_of(path, text):
    """Every class, struct and union of a file, nested ones each for themselves."""
    code = _plain(text)
    found = []
    opened = []  # (what, start of the declaration) of each open brace
    head = 0
    for match in re.finditer(r"[{};]|(?<!:):(?!:)", code):
        at, sign = match.start(), match.group()
        what = opened[-1][0] if opened else "scope"
        if sign == "{":
            kind = "body"
            if what == "scope" or isinstance(what, Class):
                text_before = _ACCESS.sub("", code[head:at].strip()).strip()
                kind = _opened_by(text_before, what, path, code, at)
            if isinstance(kind, Class):
                found.append(kind)
            opened.append((kind, head))
            head = at + 1 if kind == "scope" or isinstance(kind, Class) else head
        elif sign == "}" and opened:
            kind, start = opened.pop()
            outer = opened[-1][0] if opened else "scope"
            if isinstance(kind, Class) or kind == "scope":
                head = at + 1
            elif outer != "body" and _ends_here(code, at):
                if isinstance(outer, Class):
                    _count(code[start : at + 1], outer)
                head = at + 1
        elif sign == ";":
            if isinstance(what, Class) and _balanced(code[head:at]):
                _count(code[head:at], what)
                head = at + 1
            elif what == "scope":
                head = at + 1
        elif sign == ":" and isinstance(what, Class):
            if re.fullmatch(r"\s*(public|private|protected)\s*", code[head:at]):
                head = at + 1
    return found


def _balanced(text):
    return text.count("(") == text.count(")")


def _opened_by(head, outer, path, code, at):
    if re.search(r"^(inline\s+)?namespace\b|^extern\s*\"", head):
        return "scope"
    match = _TYPE.match(head)
    if match and not re.match(r"^enum\b", head):
        prefix = outer.name + "::" if isinstance(outer, Class) else ""
        return Class(prefix + match.group(2), path, code.count("\n", 0, at) + 1)
    return "body"


def _ends_here(code, at):
    """The brace ends a function's body; the declaration of an initialiser goes on after it."""
    after = code[at + 1 : at + 200].lstrip()
    return after[:1] not in ("", ";", ",", ")", "{", ".") and not after.startswith("->")


def _folder(path):
    return path.rsplit("/", 1)[0].removesuffix("/include/lastcall")


def measured(paths):
    """{(path, name): Class} of these headers and sources."""
    classes = {}
    sources = defaultdict(set)
    for path in paths:
        text = read(path)
        for one in classes_of(path, text):
            of_this_file = r"\b(?:class|struct)\s+(?:\w+::)*{}\b[^;]*\{{"
            one.friends = [
                friend
                for friend in one.friends
                if not re.search(of_this_file.format(re.escape(friend.split("::")[-1])), text)
            ]
            classes[(path, one.name)] = one
        if path.endswith(".cpp"):
            for match in _DEFINITION.finditer(_plain(text)):
                line_start = text.rfind("\n", 0, match.start()) + 1
                if not text[line_start : match.start()].startswith((" ", "\t")):
                    sources[match.group(1)[:-2]].add(path)
    for (path, name), one in classes.items():
        one.sources = {other for other in sources[name] if _folder(other) == _folder(path)}
    return classes


if __name__ == "__main__":
    under = tuple(sys.argv[1:]) or PRODUCT
    rows = measured(files(".hpp", ".cpp", under=under)).values()
    print("members  data  .cpp  friends  class")
    for row in sorted(rows, key=lambda row: -row.members):
        if row.members > 20 or len(row.sources) > 2 or row.friends:
            print(
                f"{row.members:7} {row.data:5} {len(row.sources):5} {len(row.friends):8}"
                f"  {row.name} ({row.path}:{row.line})"
            )
