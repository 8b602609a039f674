#pragma once
// epoll, eventfd, accept4, thread names and affinity, which Swift's Glibc module leaves out.
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Declared by the system only under _GNU_SOURCE, which would make this module disagree with Glibc's about fd_set.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);

static inline int cepoll_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

// How many processors the calling thread may run on; 0 if the kernel does not tell.
static inline int cepoll_core_count(void) {
    unsigned long mask[1024] = {0};
    long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    int count = 0;
    for (long word = 0; word * (long)sizeof mask[0] < size; word++) count += __builtin_popcountl(mask[word]);
    return count;
}
