// The cache model's smaller parts: what is asked of it, what it recognises, what it tells, and its clock.
// sources: lab/plugin/shape.cpp lab/plugin/parameters.cpp lab/plugin/report.cpp lab/plugin/machine.cpp
// sources: lab/plugin/core_cache.cpp lab/plugin/shared_cache.cpp lab/plugin/turns.cpp
#include <gtest/gtest.h>

#include <cstring>
#include <new>

#include "lab/plugin/instructions.h"
#include "lab/plugin/machine.h"
#include "lab/plugin/virtual_time.h"

namespace corral::cache_model {
namespace {

std::string fault(std::vector<std::string_view> words, Parameters parameters = {}) {
  return parse(words, parameters);
}

Parameters understood(std::vector<std::string_view> words) {
  Parameters parameters;
  EXPECT_EQ(parse(words, parameters), "");
  return parameters;
}

TEST(Parameters, AreUnderstood) {
  EXPECT_EQ(understood({}).l1, (CacheShape{16 << 10, 4, 64}));
  EXPECT_EQ(understood({"preset=today"}).l2, (CacheShape{2 << 20, 16, 64}));
  EXPECT_EQ(understood({"l1=32K:8"}).l1, (CacheShape{32 << 10, 8, 64}));
  EXPECT_EQ(understood({"l1=4096:1:32", "l2=1M:8:32"}).l1, (CacheShape{4096, 1, 32}));
  const Parameters all = understood({"l1lat=3", "l2lat=70", "quantum=2000", "clock=parallel", "roi=on", "l2per=2", "out=/a/b"});
  EXPECT_EQ(all.l1_latency, 3u);
  EXPECT_EQ(all.l2_latency, 70u);
  EXPECT_EQ(all.quantum, 2000u);
  EXPECT_EQ(all.clock, GuestClock::parallel);
  EXPECT_TRUE(all.region_only);
  EXPECT_EQ(all.l2_cores(8), 2u);
  EXPECT_EQ(understood({}).l2_cores(8), 8u);
  EXPECT_EQ(all.report, "/a/b");
}

TEST(Parameters, WrongOnesAreRefused) {
  for (const char* word : {"l1=",      "l1=16K",    "l1=16K:0", "l1=17K:4", "l1=16K:4:63", "l1=16K:4:64:1",   "l1=5G:4",
                           "l1=16k:4", "l1=48K:16", "l2=1M:65", "l1=-1:4",  "l1lat=x",     "quantum=9999999", "clock=fast",
                           "roi=yes",  "roi",       "out=",     "l3=1M:16", "l2per=65",    "l2per=x",         "preset=now",
                           ""}) {
    EXPECT_NE(fault({word}), "") << word;
  }
  EXPECT_NE(fault({"l1=16K:4:32"}).find("lines"), std::string::npos);
  EXPECT_NE(fault({"l1=256K:4"}).find("smaller"), std::string::npos);
  EXPECT_NE(fault({"clock=parallel"}).find("quantum"), std::string::npos);
}

TEST(Instructions, MarksAreRecognised) {
  const u8 code[] = {0x0f, 0x1f, 0x84, 0x00, 0x04, 0x63, 0x61, 0x43, 0x0f, 0x1f, 0x84, 0x00, 0xfe, 0xff, 0xff, 0xff};
  Mark mark{};
  const std::span whole{code};
  ASSERT_TRUE(is_mark(whole.first(8), mark));
  EXPECT_EQ(mark, Mark::stop);
  EXPECT_EQ(operand_of(code), -2);
  EXPECT_FALSE(is_mark(whole.subspan(8), mark)) << "its operand is none";
  EXPECT_FALSE(is_mark(whole.first(7), mark));
  for (size_t i = 0; i < 8; ++i) {
    u8 other[8];
    std::copy_n(code, 8, other);
    other[i] ^= 0x80;
    EXPECT_FALSE(is_mark(other, mark)) << i;
  }
}

TEST(Instructions, ChangesOfTranslationsAreRecognised) {
  const auto changes = [](std::vector<u8> code) { return changes_translations(code); };
  EXPECT_TRUE(changes({0x0f, 0x22, 0xd8})) << "mov %rax,%cr3";
  EXPECT_TRUE(changes({0x41, 0x0f, 0x22, 0xd8})) << "mov %r8,%cr3";
  EXPECT_TRUE(changes({0x0f, 0x01, 0x38})) << "invlpg (%rax)";
  EXPECT_TRUE(changes({0x41, 0x0f, 0x01, 0x3f})) << "invlpg (%r15)";
  EXPECT_TRUE(changes({0x66, 0x0f, 0x38, 0x82, 0x01})) << "invpcid";
  EXPECT_FALSE(changes({0x0f, 0x01, 0xf8})) << "swapgs";
  EXPECT_FALSE(changes({0x0f, 0x20, 0xd8})) << "mov %cr3,%rax";
  EXPECT_FALSE(changes({0x0f, 0x01, 0x10})) << "lgdt";
  EXPECT_FALSE(changes({0x66, 0x66}));
  EXPECT_FALSE(changes({}));
}

TEST(AddressCache, ForgetsAsAWhole) {
  AddressCache cache;
  u64 physical = 0;
  EXPECT_FALSE(cache.find(0, physical));
  for (int generation = 0; generation < 10'000; ++generation) {
    for (const u64 page : {u64{0}, u64{0x1000}, u64{0xffff'ffff'8000'0000}, u64{0xffff'ffff'ffff'f000}}) {
      ASSERT_FALSE(cache.find(page + 5, physical)) << generation;
      cache.remember(page + 5, page / 2 + 5);
      ASSERT_TRUE(cache.find(page + 0xfff, physical));
      ASSERT_EQ(physical, page / 2 + 0xfff);
    }
    cache.forget();
  }
}

TEST(VirtualTime, GoesOnAsTheCoreThatIsAhead) {
  VirtualTime time{2, GuestClock::parallel};
  const auto works = [&](u32 core, u64 cycles, bool new_turn) {
    const u64 passes = time.works(core, cycles, new_turn);
    time.passed(passes);
    return passes;
  };
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(works(0, 100, true), 100u);
    EXPECT_EQ(works(1, 60, true), 0u) << "at the same time";
    EXPECT_EQ(works(1, 40, false), 0u);
  }
  EXPECT_EQ(time.now(), 500u);
  EXPECT_EQ(works(0, 10, true), 10u);
  EXPECT_EQ(works(1, 30, true), 20u) << "beyond the other one";
  EXPECT_EQ(time.now(), 530u);
}

TEST(VirtualTime, WhoSleptDoesNotCatchUp) {
  VirtualTime time{2, GuestClock::parallel};
  for (int turn = 0; turn < 10; ++turn) time.passed(time.works(0, 100, true));
  EXPECT_EQ(time.works(1, 150, true), 50u) << "from the beginning of the present round";
}

TEST(VirtualTime, WithoutParallelTimeNothingIsLost) {
  VirtualTime time{2, GuestClock::stalls};
  EXPECT_EQ(time.works(0, 100, true), 100u);
  time.passed(70);
  EXPECT_EQ(time.works(1, 100, true), 130u);
  time.passed(130);
  EXPECT_EQ(time.works(1, 1, false), 1u);
}

Page page;  // all zero

struct InMachine : testing::Test {
  void SetUp() override { page.~Page(), new (&page) Page{}; }
  Machine machine{2, Parameters{}};
};
using MachineOf = InMachine;

TEST_F(MachineOf, AnswersAKernelOfItsVersion) {
  page.version = version + 1;
  machine.seat(0, page);
  EXPECT_EQ(page.answer, 0u);
  page.version = version;
  page.asking = most_cores;
  machine.seat(0, page);
  EXPECT_EQ(page.answer, 0u) << "there is no such seat";
  page.asking = 5;
  machine.core(0).executes(Mode::kernel, 10);
  machine.seat(0, page);
  EXPECT_EQ(page.answer, version);
  EXPECT_EQ(page.l1_bytes, u32{16 << 10});
  EXPECT_EQ(page.l2_bytes, u32{128 << 10});
  EXPECT_EQ(page.seats[5].sums.of(Mode::kernel, Event::instructions), 10u) << "counts go on";
  machine.core(0).executes(Mode::user, 7);
  EXPECT_EQ(page.seats[5].sums.of(Mode::user, Event::instructions), 7u);
}

TEST_F(MachineOf, CountsForCoresAndThreads) {
  page.version = version;
  machine.seat(0, page);
  const auto runs = [&](u64 thread, const char* name) {
    page.seats[0].thread.store(thread, Order::relaxed);
    strncpy(page.seats[0].name, name, name_bytes);
    machine.core(0).thread_runs();
  };
  machine.core(0).executes(Mode::kernel, 1000);
  runs(3, "before exec");
  machine.core(0).access(Mode::user, 0x1000, 8, true);
  machine.core(0).access(Mode::user, 0x1000, 8, false);
  machine.core(0).access(Mode::user, 0x103c, 8, false);  // into the next line
  runs(0, "a\"\x01\\");
  machine.core(1).access(Mode::kernel, 0x1000, 8, false);
  const std::string told = machine.report("x");
  EXPECT_NE(told.find("\"name\": \"a???\", \"user\": {\"instructions\": 0, \"cycles\": 220, \"accesses\": 3, \"refills\": 2, "
                      "\"l2_refills\": 2, \"snoops\": 0}"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("{\"core\": 1, \"user\": {\"instructions\": 0, \"cycles\": 0, \"accesses\": 0, \"refills\": 0, "
                      "\"l2_refills\": 0, \"snoops\": 0}, \"kernel\": {\"instructions\": 0, \"cycles\": 10, \"accesses\": 1, "
                      "\"refills\": 1, \"l2_refills\": 0, \"snoops\": 1}}"),
            std::string::npos)
      << told;
  machine.reset_report();
  machine.core(0).executes(Mode::kernel, 4);
  EXPECT_EQ(page.seats[0].sums.of(Mode::kernel, Event::instructions), 1004u) << "in the page they go on";
  EXPECT_NE(machine.report("x").find("\"kernel\": {\"instructions\": 4,"), std::string::npos);
}

}  // namespace
}  // namespace corral::cache_model
