"""What a file uses and what it includes, by name: an approximation that takes no compiler.

A build that precompiles headers or compiles files together gives each file what its neighbours
include. These rules read the text instead: a name of the standard library, of POSIX, of another
library or of this tree's own headers is one that the file, or a header that it includes, names the
header of. `./dev test --long` also compiles every file alone, which is exact and takes minutes.
"""

import functools
import os
import re

from lint_cxx import code_of, includes_of
from lint_tree import PRODUCT, ROOT, files, finding, line_of, read

HEADERS = (".hpp", ".h")
PUBLIC = "sdk/cpp/include/"

_STANDARD = {
    "algorithm": "all_of any_of clamp copy copy_n count_if fill find_if find_if_not for_each"
    " for_each_n lower_bound max min minmax none_of partition replace replace_if reverse search"
    " sort stable_partition stable_sort transform unique upper_bound",
    "any": "any any_cast",
    "array": "array to_array",
    "atomic": "atomic atomic_flag memory_order_acquire memory_order_relaxed memory_order_release",
    "bit": "bit_cast bit_ceil countl_zero countr_zero has_single_bit popcount",
    "charconv": "from_chars to_chars chars_format",
    "chrono": "ceil chrono_literals duration duration_cast floor hours microseconds milliseconds"
    " minutes nanoseconds seconds steady_clock system_clock time_point",
    "cmath": "isfinite isnan lround",
    "concepts": "convertible_to integral invocable same_as",
    "condition_variable": "condition_variable",
    "cstddef": "byte ptrdiff_t size_t",
    "cstdint": "int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t uintptr_t",
    "cstdio": "fprintf snprintf",
    "cstdlib": "_Exit abort atexit free getenv",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncpy strrchr",
    "ctime": "strftime time time_t tm",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr get_terminate rethrow_exception"
    " rethrow_if_nested set_terminate terminate_handler uncaught_exceptions",
    "filesystem": "create_directories directory_iterator exists is_directory",
    "fstream": "ifstream ofstream",
    "functional": "equal_to function greater hash less not_fn reference_wrapper",
    "future": "future future_status packaged_task promise shared_future",
    "initializer_list": "initializer_list",
    "iomanip": "setfill setprecision setw",
    "iostream": "cerr cin cout",
    "iterator": "back_inserter distance inserter make_move_iterator",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "enable_shared_from_this make_shared make_unique shared_ptr static_pointer_cast"
    " unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock try_to_lock"
    " unique_lock",
    "new": "bad_alloc",
    "numeric": "accumulate iota reduce",
    "optional": "make_optional nullopt optional",
    "random": "mt19937_64 random_device uniform_int_distribution uniform_real_distribution",
    "ratio": "milli ratio",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "span": "as_bytes span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "invalid_argument logic_error out_of_range runtime_error",
    "string": "getline stoi stoul string to_string",
    "string_view": "string_view string_view_literals",
    "charconv or system_error": "errc",
    "system_error": "error_category error_code generic_category make_error_code"
    " system_category system_error",
    "thread": "jthread sleep_for thread",
    "tuple": "make_tuple tie tuple",
    "type_traits": "conditional_t decay_t enable_if_t is_enum_v is_integral_v is_pointer_v"
    " is_same_v is_trivially_destructible_v remove_cvref_t underlying_type_t",
    "typeinfo": "type_info",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange forward in_range index_sequence make_index_sequence move pair swap",
    "variant": "get_if holds_alternative monostate variant variant_alternative_t variant_size_v"
    " visit",
    "vector": "vector",
}
# What the standard itself, or every library of it, gives with another header.
_GIVEN_BY = {
    "cstddef": "cstdint cstdio cstdlib cstring string string_view vector array memory span",
    "initializer_list": "string vector map set array",
    "ratio": "chrono",
}
_POSIX = {
    "arpa/inet.h": "inet_ntop inet_pton",
    "dirent.h": "closedir opendir readdir fdopendir",
    "fcntl.h": "fcntl open openat",
    "netdb.h": "getaddrinfo freeaddrinfo getnameinfo",
    "poll.h": "poll ppoll",
    "signal.h": "kill sigaction sigaddset sigemptyset sigfillset sigprocmask pthread_sigmask",
    "spawn.h": "posix_spawn posix_spawnp posix_spawnattr_init posix_spawn_file_actions_init",
    "sys/epoll.h": "epoll_create1 epoll_ctl epoll_wait epoll_pwait2",
    "sys/eventfd.h": "eventfd",
    "sys/file.h": "flock",
    "sys/prctl.h": "prctl",
    "sys/resource.h": "getrlimit setrlimit getpriority setpriority",
    "sys/signalfd.h": "signalfd",
    "sys/socket.h": "accept4 bind connect getpeername getsockname getsockopt listen recv recvmsg"
    " send sendmsg setsockopt shutdown socket socketpair",
    "sys/stat.h": "chmod fchmod fstat fstatat lstat mkdir stat umask",
    "sys/timerfd.h": "timerfd_create timerfd_settime",
    "sys/wait.h": "waitid waitpid",
    "unistd.h": "access chdir chown close dup dup2 execve execvp fork fsync getegid geteuid getgid"
    " getpid getppid getuid isatty lseek pipe pipe2 pread pwrite read readlink rmdir"
    " setpgid setsid symlink unlink write",
}
_POSIX_WORDS = {
    "netinet/in.h": "sockaddr_in sockaddr_in6", "poll.h": "pollfd", "sys/epoll.h": "epoll_event",
    "sys/un.h": "sockaddr_un", "dirent.h": "dirent", "sys/resource.h": "rlimit",
    # Some headers of glibc bring these along with some options and not with others.
    "fcntl.h": "AT_FDCWD F_GETFL F_SETFD F_SETFL FD_CLOEXEC O_APPEND O_CLOEXEC O_CREAT O_DIRECTORY"
    " O_EXCL O_NOFOLLOW O_NONBLOCK O_PATH O_RDONLY O_RDWR O_TRUNC O_WRONLY",
}  # fmt: skip
# Where the includes of each library begin.
_LIBRARIES = {
    "nlohmann": ("nlohmann/",), "YAML": ("yaml-cpp/",), "fmt": ("fmt/", "spdlog/"),
    "spdlog": ("spdlog/",), "httplib": ("httplib.h",), "prometheus": ("prometheus/",),
    "CLI": ("CLI/",), "asio": ("boost/asio",), "beast": ("boost/beast",),
}  # fmt: skip

_TYPE = re.compile(
    r"^(?P<indent> *)(?:template <.*>\s*)?(?:(?:class|struct|enum class|enum|union) "
    r"(?:\[\[\w+\]\] )?(\w+)(?: final)?\s*(?=[:{])|using (\w+) =)|\b(?:typename|class) (\w+)\b",
    re.MULTILINE,
)
_CONSTANT = re.compile(r"\bconst(?:expr|init)? [^=;{()]*?\b(k[A-Z]\w*)\b(?:\[\w*\])?\s*[={;]")
_FUNCTION = re.compile(
    r"^(?!using|class|struct|enum|namespace|template|return|#|\}|public|private|static_assert"
    r"|typedef|extern)[\w\[](?:[\w:<>,&*\[\] ]|\n    )*?[ &*](\w+)\(",
    re.MULTILINE,
)
_FORWARD = re.compile(r"^ *(?:friend )?(?:class|struct|enum class) (\w+)(?: : [\w:]+)?;", re.M)
_NAMESPACE = re.compile(r"^namespace ([\w:]+)", re.MULTILINE)


@functools.cache
def _code(path):
    return code_of(read(path))


@functools.cache
def _spaces(path):
    return set(_NAMESPACE.findall(_code(path)))


@functools.cache
def _words(path):
    return set(re.findall(r"\w+", _code(path)))


def _own(name, beside):
    """The file of this tree that an include means, or nothing."""
    places = (name, os.path.join(os.path.dirname(beside), name), PUBLIC + name)
    return next((place for place in places if (ROOT / place).is_file()), None)


def _included(path, text):
    """(headers of this tree, names of others) that this text includes itself."""
    own, others = set(), set()
    for _, _, name in includes_of(text):
        place = _own(name, path)
        (own if place else others).add(place or name)
    return own, others


@functools.cache
def _included_by(path):
    return _included(path, read(path))


def reached(path, text):
    """(headers of this tree, names of others) that come with this text, through headers of ours."""
    own, others = _included(path, text)
    waiting = set(own)
    while waiting:
        more, names = _included_by(waiting.pop())
        others = others | names
        waiting |= more - own
        own = own | more
    return own | {path}, others


def _by_name(table):
    return {name: header for header, names in table.items() for name in names.split()}


_STANDARD_NAMES, _POSIX_NAMES = _by_name(_STANDARD), _by_name(_POSIX)
_POSIX_WORD_NAMES = _by_name(_POSIX_WORDS)


def _forward(path, code, own):
    """Types that are declared without their header, here or in a header that comes along."""
    return set(_FORWARD.findall(code)).union(
        *(_FORWARD.findall(_code(header)) for header in own if header != path)
    )


def _finding(path, code, at, name, header):
    return finding(path, line_of(code, at), f"uses {name} without <{header}>")


def standard_includes(path, text):
    """std::NAME and ::call() stand below an include of their header, in the file or its headers."""
    _, others = reached(path, text)
    # <string.h> is <cstring> for this.
    names = others | {f"c{name[:-2]}" for name in others if name.endswith(".h")}
    code, found = code_of(text), {}
    for match in re.finditer(r"\bstd::(?:\w+::)?(\w+)", code):
        header = _STANDARD_NAMES.get(match[1])
        if header and not {*header.split(" or "), *_GIVEN_BY.get(header, "").split()} & names:
            found.setdefault(match[1], _finding(path, code, match.start(), match[0], header))
    for match in re.finditer(r"(?<![\w>:])(?:::(\w+)\(|(\w+)\b)", code):
        header = _POSIX_NAMES.get(match[1]) or _POSIX_WORD_NAMES.get(match[2])
        if header and header not in others and f"c{header[:-2]}" not in others:
            found.setdefault(match[0], _finding(path, code, match.start(), match[0], header))
    return list(found.values())


def library_includes(path, text):
    """Names of other people's libraries stand below an include of that library."""
    own, others = reached(path, text)
    code, found = code_of(text), {}
    forward = _forward(path, code, own)
    for match in re.finditer(r"(?<![\w:])(?:boost::)?(\w+)::(?:\w+::)*(\w+)", code):
        starts = _LIBRARIES.get(match[1])
        if starts and match[2] not in forward and not any(n.startswith(starts) for n in others):
            found.setdefault(match[1], _finding(path, code, match.start(), match[0], starts[0]))
    if match := re.search(r"\b(?:SSL|ERR|X509|BIO|EVP)_\w+\(", code):
        if not any(name.startswith("openssl/") for name in others):
            found["openssl"] = _finding(path, code, match.start(), match[0], "openssl/")
    return list(found.values())


@functools.cache
def _declared():
    """({type or constant: headers}, {function of a namespace: headers}); no nested names."""
    names, functions, others = {}, {}, set()
    for path in files(*HEADERS, ".cpp", under=PRODUCT):
        code = _code(path)
        is_header = path.endswith(HEADERS)
        for match in [*_TYPE.finditer(code), *_CONSTANT.finditer(code)]:
            name = next(n for n in match.groups()[::-1] if n and n.strip())
            nested = match.re is _TYPE and (match["indent"] or match[4])
            if nested or not is_header:
                others.add(name)
            else:
                names.setdefault(name, set()).add(path)
        for match in _FUNCTION.finditer(code) if is_header else ():
            functions.setdefault(match[1], set()).add(path)
    return {name: paths for name, paths in names.items() if name not in others}, functions


def _calls(path, code, functions, own):
    """(position, name, headers) of calls of functions that headers declare: by their namespace, or,
    where nothing else that the file sees has that name, from the headers' own folder and from
    namespaces within theirs."""
    spaces = set(_NAMESPACE.findall(code))
    around = {space.rpartition("::")[0] for space in spaces} - {""}
    plain = re.sub(r"\b(return|co_return|co_await|else|throw) ", "", code)
    seen = set().union(*(_words(header) for header in own if header != path))
    for match in re.finditer(r"(?<![.>:\w~])(?:(\w+)::)?(\w+)\(", code):
        headers = functions.get(match[2], ())
        if match[1]:
            headers = {h for h in headers if match[1] in {s.split("::")[-1] for s in _spaces(h)}}
        elif match[2] in seen or re.search(
            rf"[\w>&*][&*>]? {match[2]}\b|[\[,&]{match[2]}\b", plain
        ):
            continue
        else:
            folder = os.path.dirname(path)
            headers = {
                h for h in headers
                if (_spaces(h) & spaces and os.path.dirname(h) == folder) or _spaces(h) & around
            }
        if headers:
            yield match.start(), match[0], headers


def own_includes(path, text):
    """A name that headers of this tree declare stands below an include of one of them."""
    types, functions = _declared()
    own, _ = reached(path, text)
    code = code_of(text)
    forward = _forward(path, code, own)
    uses = [
        (match.start(), match[2], types[match[2]])
        for match in re.finditer(r"(?<![.>\w~])(\w+::)?(\w+)\b", code)
        if match[2] in types and match[2] not in forward
        and (match[1] or "")[:-2] not in ("std", "boost", *_LIBRARIES)
    ]
    found = {}
    for at, name, headers in [*uses, *_calls(path, code, functions, own)]:
        if not headers & own:
            message = f'uses {name} without "{min(headers)}"'
            found.setdefault(name, finding(path, line_of(code, at), message))
    return list(found.values())
