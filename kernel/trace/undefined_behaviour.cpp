// What code compiled with -fsanitize=undefined calls when a rule of the language is broken (cmake -DCORRAL_UBSAN=ON). Undefined
// behaviour is a bug, so each call ends in a panic that names the rule, the place and how the processor came there; the
// linker leaves all this out of a kernel that calls none of it. Any context.
// Source of the names and of the records: LLVM 19, compiler-rt/lib/ubsan/ubsan_handlers.h. A record begins with its place.
// The operands that come behind it are not read: their form depends on their types, and the backtrace says more.
#include "lib/format.h"
#include "trace/panic.h"

namespace corral {

namespace {

struct Place {
  const char* file;
  u32 line;
  u32 column;
};

struct PointerRecord {
  Place place;
  const void* type;
  u8 log_alignment;
  u8 access;
};
static_assert(sizeof(PointerRecord) == 32);

[[noreturn]] void report(std::string_view rule, const Place& place) {
  char text[160];
  std::string_view file{place.file};
  text[format_to(std::span{text}.first(sizeof text - 1), "undefined behaviour: {} at {}:{}", rule, file, place.line).size()] =
      0;
  panic(text);
}

}  // namespace

}  // namespace corral

#define RULE(handler, rule)                                                \
  [[noreturn]] void __ubsan_handle_##handler(const corral::Place& record); \
  void __ubsan_handle_##handler(const corral::Place& record) {             \
    corral::report(rule, record);                                          \
  }

extern "C" {

RULE(add_overflow_abort, "a signed addition overflows")
RULE(sub_overflow_abort, "a signed subtraction overflows")
RULE(mul_overflow_abort, "a signed multiplication overflows")
RULE(negate_overflow_abort, "a negation overflows")
RULE(divrem_overflow_abort, "a division by zero or one that overflows")
RULE(shift_out_of_bounds_abort, "a shift by too much or of a negative value")
RULE(out_of_bounds_abort, "an index past the end of an array")
RULE(pointer_overflow_abort, "pointer arithmetic wraps around")
RULE(load_invalid_value_abort, "a value that its type does not have")
RULE(invalid_builtin_abort, "a builtin that is not defined for zero")
RULE(alignment_assumption_abort, "a pointer without its promised alignment")
RULE(nonnull_arg_abort, "a null pointer as an argument that may not be null")
RULE(vla_bound_not_positive_abort, "an array of no elements")
RULE(builtin_unreachable, "a place that cannot be reached is reached")
RULE(missing_return, "a function that returns a value ends without one")

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const corral::PointerRecord& record, corral::u64 pointer);
void __ubsan_handle_type_mismatch_v1_abort(const corral::PointerRecord& record, corral::u64 pointer) {
  const bool misaligned = (pointer & ((corral::u64{1} << record.log_alignment) - 1)) != 0;
  corral::report(pointer == 0 ? "a null pointer is used"
                 : misaligned ? "a misaligned pointer is used"
                              : "a pointer to too small an object is used",
                 record.place);
}

[[noreturn]] void __ubsan_handle_nonnull_return_v1_abort(const void* record, const corral::Place& place);
void __ubsan_handle_nonnull_return_v1_abort(const void*, const corral::Place& place) {
  corral::report("a null pointer is returned where none may be", place);
}
}
