#pragma once
// epoll, eventfd, accept4 and thread names, which Swift's Glibc module leaves out.
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// Declared by the system only under _GNU_SOURCE, which would make this module disagree with Glibc's about fd_set.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);

static inline int cepoll_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }
