// What the standard library's checked containers (-D_GLIBCXX_ASSERTIONS: a span's or array's index) call when a rule is
// broken: a bug like any other. Any context.
#include "trace/panic.h"

namespace std {

void __glibcxx_assert_fail(const char*, int, const char*, const char* condition) noexcept {
  corral::panic(condition);
}

}  // namespace std
