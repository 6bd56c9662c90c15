// See kernel_test.h.
#include "tests/kernel/kernel_test.h"

#include "device/clock.h"
#include "lib/format.h"
#include "platform/pc/debug_port.h"
#include "trace/log.h"

extern "C" {
extern const corral::tests::KernelTest* const __start_corral_tests[];
extern const corral::tests::KernelTest* const __stop_corral_tests[];
}

namespace corral::tests {

bool run_kernel_tests(std::string_view selection) {
  // The other cores may still be on their way out of the boot, letting go of what they held there; tests count pages and
  // objects.
  clock::spin(milliseconds(100));
  u32 ran = 0;
  u32 failed = 0;
  for (const KernelTest* const* entry = __start_corral_tests; entry != __stop_corral_tests; ++entry) {
    const KernelTest& test = **entry;
    if (selection != "all" && !std::string_view{test.name}.starts_with(selection)) continue;
    ++ran;
    const char* fault = test.run();
    char line[256];
    const std::string_view text = fault == nullptr ? format_to(line, "test: {} ok\n", test.name)
                                                   : format_to(line, "test: {} FAILED {}\n", test.name, fault);
    if (fault != nullptr) ++failed;
    platform::write_debug_port(text);
    log::notice("test {}: {}", test.name, fault == nullptr ? "ok" : fault);
  }
  log::notice("{} tests, {} failed", ran, failed);
  return ran != 0 && failed == 0;
}

}  // namespace corral::tests
