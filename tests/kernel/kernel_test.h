// Tests that run inside the kernel, at boot with test=all or test=PREFIX, on the bootstrap core, as a step of the first
// thread: interrupts off, nothing else runs on this core, the other cores are alive and read their mail.
//
//   KERNEL_TEST(name) { KERNEL_EXPECT(condition); }
//
// Each prints `test: NAME ok` or `test: NAME FAILED …` on the debug port. A failed expectation ends its test.
#pragma once

#include <string_view>

namespace corral::tests {

struct KernelTest {
  const char* name;
  const char* (*run)();  // null: passed; else what was expected and did not hold
};

// Runs the tests whose names begin with `selection` ("all": every one). True when at least one ran and all passed.
bool run_kernel_tests(std::string_view selection);

#define KERNEL_TEST(test_name)                                                                               \
  static const char* test_body_##test_name();                                                                \
  static constinit const ::corral::tests::KernelTest test_##test_name{#test_name, test_body_##test_name};    \
  __attribute__((section("corral_tests"), used,                                                              \
                 retain)) static constinit const ::corral::tests::KernelTest* const test_entry_##test_name = \
      &test_##test_name;                                                                                     \
  static const char* test_body_##test_name##_inner();                                                        \
  static const char* test_body_##test_name() {                                                               \
    return test_body_##test_name##_inner();                                                                  \
  }                                                                                                          \
  static const char* test_body_##test_name##_inner()

#define KERNEL_TEST_STRING_2(x) #x
#define KERNEL_TEST_STRING(x) KERNEL_TEST_STRING_2(x)
#define KERNEL_EXPECT(condition)                                                        \
  do {                                                                                  \
    if (!(condition)) return __FILE__ ":" KERNEL_TEST_STRING(__LINE__) ": " #condition; \
  } while (false)
#define KERNEL_PASSED return nullptr

}  // namespace corral::tests
