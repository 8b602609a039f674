// An empty package of ICU's data, in the place of the 34 MB that Foundation brings for calendars, languages and currencies.
//
// The server formats nothing for people: times are ISO 8601 and numbers are ASCII, for which Foundation needs no ICU. ICU has
// the same file for the same purpose (source/stubdata/stubdata.cpp), and reports each table as missing. The linker takes this
// symbol first where Foundation is linked statically, and nothing uses it elsewhere. Another version of ICU has another name for it:
// then the executable is larger, and nothing else changes.
#include <stdint.h>

__attribute__((aligned(16))) const struct {
    uint16_t header_size;
    uint8_t magic[2];
    struct {
        uint16_t size, reserved;
        uint8_t is_big_endian, charset_family, char_size, more_reserved;
        uint8_t format[4], format_version[4], data_version[4];
    } info;
    uint8_t padding[8];
    uint32_t count, table[3];
} icudt76_dat = {
    .header_size = 32,
    .magic = {0xDA, 0x27},
    .info = {.size = 20, .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, .char_size = 2,
             .format = {'T', 'o', 'C', 'P'}, .format_version = {1}},
};
