// The page allocator on machines that have too little memory: a message, not a wild pointer. Each in a child process,
// because a start can happen once.
#include <gtest/gtest.h>
#include <unistd.h>

#include "memory/page_allocator.h"
#include "support/host_machine.h"

namespace corral::memory {
namespace {

constexpr u64 mib = u64{1} << 20;

[[noreturn]] void start(std::initializer_list<MemoryRange> ranges) {
  host::Memory memory{{0}, 64 * mib};
  BootInfo boot;
  for (const MemoryRange& range : ranges) boot.ranges[boot.range_count++] = range;
  try {
    initialise_pages(boot, {});
    fputs("started", stderr);
  } catch (const host::Panic& panic) { fputs(panic.what(), stderr); }
  _exit(0);
}

TEST(SmallMachineDeathTest, SaysThatThereIsTooLittle) {
  EXPECT_EXIT(start({}), testing::ExitedWithCode(0), "too little");
  EXPECT_EXIT(start({{{0}, 0x9fc00, true}}), testing::ExitedWithCode(0), "too little");
  EXPECT_EXIT(start({{{mib}, mib, true}}), testing::ExitedWithCode(0), "too little");
  EXPECT_EXIT(start({{{mib}, 8 * mib, true}, {{0}, ~u64{0}, false}}), testing::ExitedWithCode(0), "too little");
  EXPECT_EXIT(start({{{mib}, 8 * mib, true}}), testing::ExitedWithCode(0), "started");
}

TEST(SmallMachineDeathTest, FarMemoryIsLeftOutWithAMessage) {
  const auto far = [] {
    host::Memory memory{{0}, 64 * mib};
    BootInfo boot;
    boot.ranges[boot.range_count++] = {{mib}, 8 * mib, true};
    boot.ranges[boot.range_count++] = {{u64{1} << 42}, 8 * mib, true};
    initialise_pages(boot, {});
    fputs(host::take_log().c_str(), stderr);
    _exit(page_statistics().total == 8 * 256 ? 0 : 1);
  };
  EXPECT_EXIT(far(), testing::ExitedWithCode(0), "8192 KiB at .* left out");
}

}  // namespace
}  // namespace corral::memory
