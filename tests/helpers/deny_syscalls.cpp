// deny_syscalls EPERM|ENOSYS COMMAND...: runs COMMAND under a seccomp filter that refuses the newer
// process primitives, as old container runtimes (EPERM) and old kernels (ENOSYS) do.
// deny_syscalls ENOBUFS COMMAND...: sends of less than 64 bytes fail, as where the kernel has no
// memory for them at that moment; longer ones, as a greeting is, succeed.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr unsigned kSoPeerPidfd = 77;  // newer than the C library's headers

/// The offset of an argument's lower half: levels and names of options are ints.
constexpr unsigned argument(int number) {
  return offsetof(seccomp_data, args) + static_cast<unsigned>(number) * sizeof(__u64);
}

constexpr unsigned kShort = 64;

bool install(sock_filter* filter, unsigned short size) {
  sock_fprog program{size, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool deny_short_sends() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),  // the size's low half
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kShort, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOBUFS),
  };
  return install(filter, sizeof filter / sizeof filter[0]);
}

bool deny_process_primitives(unsigned error) {
  unsigned const refuse = SECCOMP_RET_ERRNO | error;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 9, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 8, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 7, 0),
      // A refused clone3 always gets ENOSYS, because otherwise glibc could start nothing.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 7, 0),
      // Kernels before 6.5 know no pidfd of a socket's other end, and report it in their own way.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSoPeerPidfd, 3, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, refuse),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
  };
  return install(filter, sizeof filter / sizeof filter[0]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  bool const is_installed =
      strcmp(argv[1], "ENOBUFS") == 0
          ? deny_short_sends()
          : deny_process_primitives(strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS);
  if (!is_installed) {
    return 97;
  }
  execvp(argv[2], argv + 2);
  return 96;
}
