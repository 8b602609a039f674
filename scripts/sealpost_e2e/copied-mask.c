// Lets valgrind run programs with libdispatch: valgrind 3.19 writes into the mask of sigsuspend, which libdispatch keeps
// in read-only memory. This call passes a copy.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}
