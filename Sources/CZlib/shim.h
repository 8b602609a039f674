#pragma once
// deflateInit2 is a macro, which Swift does not see. 15 + 16: the largest window, in the format of gzip.
#include <zlib.h>

static inline int czlib_begin_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}
