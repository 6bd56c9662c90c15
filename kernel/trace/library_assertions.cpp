// What compiled code calls when a rule of the language or of the standard library is broken: the index of a span or array
// (-D_GLIBCXX_ASSERTIONS), the position of a substring, a pure virtual function. All are bugs. Any context.
#include <string_view>

#include "trace/panic.h"

namespace std {

void __glibcxx_assert_fail(const char*, int, const char*, const char* condition) noexcept {
  corral::panic(condition);
}

void __throw_out_of_range_fmt(const char* text, ...) {
  corral::panic(text);
}

}  // namespace std

extern "C" {
[[noreturn]] void __cxa_pure_virtual();
void __cxa_pure_virtual() {
  corral::panic("a pure virtual function was called");
}
}
