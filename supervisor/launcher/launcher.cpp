// The `lastcall` that users start: it holds back the signals for `run` and `serve`, and becomes the
// program.
//
// The dynamic linker needs milliseconds for the program's libraries before any instruction of ours
// runs. A stop signal in that time ends an ordinary process, and is lost if the process is PID 1 of
// a container, because the kernel discards signals that PID 1 neither handles nor blocks. Blocked
// and pending signals survive an exec. Therefore this file runs first: a static program without
// libraries, which blocks the signals by its first system call, some twenty instructions after its
// start.
//
// Rules:
//  1. The program is ../libexec/lastcall/lastcall, relative to the folder of this file. Its
//     arguments, its argv[0] and its name in `ps` stay unchanged.
//  2. Signals are held back before the arguments are looked at, and go on being held only for `run`
//     and `serve`. `serve` unblocks them as soon as it handles them. `run` gets
//     LASTCALL_HELD_SIGNALS, which names those that were not blocked before, so that the engine
//     gets the mask with which the launcher was started.
//  3. LASTCALL_LAUNCHER is the path of this file. The program removes both from its environment.
//  4. There is no C library here: no global constructor, no canary, no errno.
//
// Source: signal(7), execve(2), pid_namespaces(7), getauxval(3); docs/adr/0060-launcher.md.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using Word = unsigned long;

#if defined(__x86_64__)
asm(R"(
  .globl _start
  .type _start, @function
_start:
  endbr64
  xorl %ebp, %ebp
  movq %rsp, %rdi
  andq $-16, %rsp
  call lastcall_launch
)");

long system_call(long number, Word a = 0, Word b = 0, Word c = 0, Word d = 0) {
  register Word fourth asm("r10") = d;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
asm(R"(
  .globl _start
  .type _start, %function
_start:
  bti c
  mov x29, #0
  mov x30, #0
  mov x0, sp
  and sp, x0, #-16
  bl lastcall_launch
)");

long system_call(long number, Word a = 0, Word b = 0, Word c = 0, Word d = 0) {
  register long which asm("x8") = number;
  register Word first asm("x0") = a;
  register Word second asm("x1") = b;
  register Word third asm("x2") = c;
  register Word fourth asm("x3") = d;
  asm volatile("svc #0"
               : "+r"(first)
               : "r"(which), "r"(second), "r"(third), "r"(fourth)
               : "memory");
  return static_cast<long>(first);
}
#else
#error "this processor needs its own _start and system_call, as the two above"
#endif

Word address(void const* pointer) {
  return reinterpret_cast<Word>(pointer);
}

struct Held {
  int signal;
  char name[5];
};
/// The signals that the shim handles: stop signals, and those that it passes on to a running
/// engine.
constexpr Held kHeld[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGQUIT, "QUIT"},
                          {SIGHUP, "HUP"},   {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

constexpr Word bit_of(int signal) {
  return Word{1} << (signal - 1);
}

constexpr Word held_set() {
  Word set = 0;
  for (Held const& each : kHeld) {
    set |= bit_of(each.signal);
  }
  return set;
}

constexpr char kProgram[] = "../libexec/lastcall/lastcall";
constexpr char kPathName[] = "LASTCALL_LAUNCHER=";
constexpr char kHeldName[] = "LASTCALL_HELD_SIGNALS=";

bool begins_with(char const* text, char const* beginning) {
  while (*beginning != 0 && *text == *beginning) {
    ++text;
    ++beginning;
  }
  return *beginning == 0;
}

bool is_same(char const* text, char const* other) {
  return begins_with(text, other) && begins_with(other, text);
}

/// A text in a buffer; it is cut if the buffer is too small.
struct Text {
  char* at;
  char* end;  // end of the buffer, with room for the final zero

  void add(char const* text) {
    while (*text != 0 && at != end) {
      *at++ = *text++;
    }
    *at = 0;
  }
  void add_number(Word number) {
    char digits[24];
    char* first = digits + sizeof digits - 1;
    *first = 0;
    do {
      *--first = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    add(first);
  }
};

char own_path[sizeof kPathName + PATH_MAX];  // includes the name of the environment variable
char program[PATH_MAX + sizeof kProgram];
char held[sizeof kHeldName + 32];

/// Must run before anything else: from here on, signals stay pending. Returns the previous mask.
Word hold() {
  Word const set = held_set();
  Word before = 0;
  system_call(SYS_rt_sigprocmask, SIG_BLOCK, address(&set), address(&before), sizeof before);
  return before;
}

/// For a command that does not handle signals: one that came meanwhile has its usual effect.
void unhold(Word before) {
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, address(&before), 0, sizeof before);
}

void report_held(Word before) {
  Text text{held, held + sizeof held - 1};
  text.add(kHeldName);
  char const* comma = "";
  for (Held const& each : kHeld) {
    if ((before & bit_of(each.signal)) == 0) {
      text.add(comma);
      text.add(each.name);
      comma = ",";
    }
  }
}

/// Without /proc, the path is the one by which the launcher was called, which is right unless that
/// was a link.
void find_own_path(char const* called_as) {
  Text text{own_path, own_path + sizeof own_path - 1};
  text.add(kPathName);
  long const length = system_call(SYS_readlinkat, static_cast<Word>(AT_FDCWD),
                                  address("/proc/self/exe"), address(text.at), PATH_MAX - 1);
  if (length <= 0) {
    text.add(called_as);
  }
}

/// The program is in a folder relative to this file's.
void find_program() {
  char const* const path = own_path + sizeof kPathName - 1;
  char const* name = path;  // after the last slash
  for (char const* c = path; *c != 0; ++c) {
    name = *c == '/' ? c + 1 : name;
  }
  Text text{program, program + (name - path)};
  text.add(path);
  text = {text.at, program + sizeof program - 1};
  text.add(kProgram);
}

char line[sizeof program + 128];

[[noreturn]] void fail(long error) {
  Text text{line, line + sizeof line - 1};
  text.add("lastcall: cannot run ");
  text.add(program);
  text.add(": error ");
  text.add_number(static_cast<Word>(error));
  text.add(error == ENOENT ? " (no such file, or no dynamic linker for it)" : "");
  text.add("; expected the program there, as an installation lays it out\n");
  system_call(SYS_write, STDERR_FILENO, address(line), static_cast<Word>(text.at - line));
  for (;;) {
    system_call(SYS_exit_group, error == ENOENT ? 127 : 126);
  }
}

}  // namespace

/// `stack` is as the kernel leaves it: argc, argv, the environment and the auxiliary vector.
extern "C" [[noreturn, gnu::used]] void lastcall_launch(Word* stack) {
  Word const before = hold();
  Word const count = stack[0];
  char** const arguments = reinterpret_cast<char**>(stack + 1);
  bool const is_run = count > 1 && is_same(arguments[1], "run");
  if (!is_run && !(count > 1 && is_same(arguments[1], "serve"))) {
    unhold(before);
  }

  char** const environment = arguments + count + 1;
  Word size = 0;
  while (environment[size] != nullptr) {
    ++size;
  }
  char const* called_as = arguments[0] != nullptr ? arguments[0] : "";
  for (Word const* aux = reinterpret_cast<Word*>(environment + size + 1); aux[0] != AT_NULL;
       aux += 2) {
    called_as = aux[0] == AT_EXECFN ? reinterpret_cast<char const*>(aux[1]) : called_as;
  }
  find_own_path(called_as);
  find_program();

  // The new environment is the caller's without the launcher's two variables, which no other
  // program may set, followed by the launcher's own. The list grows over the auxiliary vector,
  // which is not read after this: the kernel gives the program a new one.
  char** next = environment;
  for (Word at = 0; at < size; ++at) {
    bool const is_ours =
        begins_with(environment[at], kPathName) || begins_with(environment[at], kHeldName);
    if (!is_ours) {
      *next++ = environment[at];
    }
  }
  *next++ = own_path;
  if (is_run) {
    report_held(before);
    *next++ = held;
  }
  *next = nullptr;
  fail(-system_call(SYS_execve, address(program), address(arguments), address(environment)));
}
