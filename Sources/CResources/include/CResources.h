#pragma once

#include <stddef.h>

/// A file whose bytes are part of the executable.
///
/// The clang compiler embeds it, in no time: an array literal of Swift, as `.embedInCode` writes it,
/// takes the compiler half a second for each kilobyte.
struct CResource {
    const unsigned char *start;
    size_t count;
};

extern const struct CResource common_passwords;
extern const struct CResource openapi;
extern const struct CResource act_js;
extern const struct CResource api_js;
extern const struct CResource audit_js;
extern const struct CResource console_css;
extern const struct CResource console_js;
extern const struct CResource devices_js;
extern const struct CResource dom_js;
extern const struct CResource failures_js;
extern const struct CResource icon_svg;
extern const struct CResource index_html;
extern const struct CResource lists_js;
extern const struct CResource notifications_js;
extern const struct CResource overview_js;
extern const struct CResource plot_js;
extern const struct CResource tokens_js;
extern const struct CResource users_js;
extern const struct CResource words_js;
