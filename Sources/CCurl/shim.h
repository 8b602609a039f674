#pragma once
// libcurl; its variadic setters are repeated with fixed types, because Swift cannot call variadic C functions.
#include <curl/curl.h>
