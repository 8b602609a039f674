#pragma once
// libFuzzer used as a library, which installs no header: https://llvm.org/docs/LibFuzzer.html
#include <stddef.h>
#include <stdint.h>

extern int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
