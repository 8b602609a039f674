#include "CResources.h"

// `#embed` is part of C23, and an extension of the language that the package manager has clang compile.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char common_passwords_bytes[] = {
#embed "../PushCore/CommonPasswords.txt"
};
const struct CResource common_passwords = {common_passwords_bytes, sizeof common_passwords_bytes};

static const unsigned char openapi_bytes[] = {
#embed "../PushServer/openapi.json"
};
const struct CResource openapi = {openapi_bytes, sizeof openapi_bytes};

static const unsigned char act_js_bytes[] = {
#embed "../PushServer/Console/page/act.js"
};
const struct CResource act_js = {act_js_bytes, sizeof act_js_bytes};

static const unsigned char api_js_bytes[] = {
#embed "../PushServer/Console/page/api.js"
};
const struct CResource api_js = {api_js_bytes, sizeof api_js_bytes};

static const unsigned char audit_js_bytes[] = {
#embed "../PushServer/Console/page/audit.js"
};
const struct CResource audit_js = {audit_js_bytes, sizeof audit_js_bytes};

static const unsigned char console_css_bytes[] = {
#embed "../PushServer/Console/page/console.css"
};
const struct CResource console_css = {console_css_bytes, sizeof console_css_bytes};

static const unsigned char console_js_bytes[] = {
#embed "../PushServer/Console/page/console.js"
};
const struct CResource console_js = {console_js_bytes, sizeof console_js_bytes};

static const unsigned char devices_js_bytes[] = {
#embed "../PushServer/Console/page/devices.js"
};
const struct CResource devices_js = {devices_js_bytes, sizeof devices_js_bytes};

static const unsigned char dom_js_bytes[] = {
#embed "../PushServer/Console/page/dom.js"
};
const struct CResource dom_js = {dom_js_bytes, sizeof dom_js_bytes};

static const unsigned char failures_js_bytes[] = {
#embed "../PushServer/Console/page/failures.js"
};
const struct CResource failures_js = {failures_js_bytes, sizeof failures_js_bytes};

static const unsigned char icon_svg_bytes[] = {
#embed "../PushServer/Console/page/icon.svg"
};
const struct CResource icon_svg = {icon_svg_bytes, sizeof icon_svg_bytes};

static const unsigned char index_html_bytes[] = {
#embed "../PushServer/Console/page/index.html"
};
const struct CResource index_html = {index_html_bytes, sizeof index_html_bytes};

static const unsigned char lists_js_bytes[] = {
#embed "../PushServer/Console/page/lists.js"
};
const struct CResource lists_js = {lists_js_bytes, sizeof lists_js_bytes};

static const unsigned char notifications_js_bytes[] = {
#embed "../PushServer/Console/page/notifications.js"
};
const struct CResource notifications_js = {notifications_js_bytes, sizeof notifications_js_bytes};

static const unsigned char overview_js_bytes[] = {
#embed "../PushServer/Console/page/overview.js"
};
const struct CResource overview_js = {overview_js_bytes, sizeof overview_js_bytes};

static const unsigned char plot_js_bytes[] = {
#embed "../PushServer/Console/page/plot.js"
};
const struct CResource plot_js = {plot_js_bytes, sizeof plot_js_bytes};

static const unsigned char tokens_js_bytes[] = {
#embed "../PushServer/Console/page/tokens.js"
};
const struct CResource tokens_js = {tokens_js_bytes, sizeof tokens_js_bytes};

static const unsigned char users_js_bytes[] = {
#embed "../PushServer/Console/page/users.js"
};
const struct CResource users_js = {users_js_bytes, sizeof users_js_bytes};

static const unsigned char words_js_bytes[] = {
#embed "../PushServer/Console/page/words.js"
};
const struct CResource words_js = {words_js_bytes, sizeof words_js_bytes};
