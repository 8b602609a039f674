// Lets time go faster for one process: preloaded (LD_PRELOAD), it stands before the C library's clocks and timers.
//
//   FAST_CLOCK=FACTOR,SINCE   from SINCE, nanoseconds of CLOCK_MONOTONIC, on, each second is FACTOR seconds long
//
// Processes with the same values agree on the time. All clocks that a program can ask for go faster, and what waits for
// them waits as much shorter: epoll, timerfd (which libdispatch's timers are made of), sleeping.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t factor = 1, since;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("FAST_CLOCK");
    long f, s;
    if (text && sscanf(text, "%ld,%ld", &f, &s) == 2 && f > 0) factor = f, since = s;
}

static int64_t real_nanoseconds(clockid_t clock) {
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// What all clocks have gained by now.
static int64_t gain(void) { return (real_nanoseconds(CLOCK_MONOTONIC) - since) * (factor - 1); }

static struct timespec timespec(int64_t nanoseconds) {
    return (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
}

static int64_t nanoseconds(const struct timespec *time) { return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec; }

static int is_of_process(clockid_t clock) { return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (syscall(SYS_clock_gettime, clock, now) < 0) return -1;
    if (clock >= 0 && !is_of_process(clock)) *now = timespec(nanoseconds(now) + gain());
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now) *now = time.tv_sec;
    return time.tv_sec;
}

// Rounded up, so that nothing wakes before its time, again and again.
static int shorter(int milliseconds) {
    return milliseconds <= 0 ? milliseconds : (int)((milliseconds + factor - 1) / factor);
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
    return (int)syscall(SYS_epoll_pwait, epoll, events, count, shorter(timeout), NULL, 8);
}

int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout, const sigset_t *mask) {
    return (int)syscall(SYS_epoll_pwait, epoll, events, count, shorter(timeout), mask, 8);
}

int timerfd_settime(int timer, int flags, const struct itimerspec *new, struct itimerspec *old) {
    struct itimerspec real = *new;
    int64_t value = nanoseconds(&new->it_value);
    if (value) {
        // An absolute time becomes what is left until then: the clocks of the kernel know nothing of the gain.
        if (flags & TFD_TIMER_ABSTIME) {
            struct timespec now;
            // Which clock it is of is not asked: the wall clock is far ahead, the two others hardly differ.
            int64_t boot = (clock_gettime(CLOCK_BOOTTIME, &now), nanoseconds(&now));
            int64_t wall = (clock_gettime(CLOCK_REALTIME, &now), nanoseconds(&now));
            int64_t left = value - (value > wall / 2 ? wall : boot);
            value = left > 0 ? left : 1;
        }
        real.it_value = timespec(value / factor + 1);
        real.it_interval = timespec(nanoseconds(&new->it_interval) / factor);
        flags &= ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
    }
    return (int)syscall(SYS_timerfd_settime, timer, flags, &real, old);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *rest) {
    int64_t left = nanoseconds(wanted);
    if (flags & TIMER_ABSTIME) {
        struct timespec now;
        clock_gettime(clock, &now);
        left -= nanoseconds(&now);
    }
    if (left <= 0) return 0;
    struct timespec real = timespec(left / factor + 1);
    return syscall(SYS_nanosleep, &real, rest) < 0 ? errno : 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *rest) {
    int code = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, rest);
    if (code) errno = code;
    return code ? -1 : 0;
}
