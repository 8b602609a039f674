// Lets valgrind run programs of libdispatch: valgrind 3.19 writes into the mask of sigsuspend, and crashes
// because libdispatch keeps that mask in read-only memory. The call gets a copy.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}
