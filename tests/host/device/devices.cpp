// The device list and the interrupt table, on a machine of threads.
// sources: kernel/device/device.cpp kernel/device/interrupts.cpp kernel/trace/trace.cpp
#include <gtest/gtest.h>

#include <string>

#include "arch/traps.h"
#include "device/device.h"
#include "device/interrupts.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "support/host_machine.h"

namespace corral {
namespace {

class Lamp final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"lamp"};
  explicit Lamp(u32 watts) : Device{device_class_object}, watts_{watts} {}
  size_t describe(char* to, size_t size) const override { return format_to({to, size}, "{} W", watts_).size(); }

 private:
  u32 watts_;
};

class Clock final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"clock"};
  Clock() : Device{device_class_object} {}
  size_t describe(char*, size_t) const override { return 0; }
};

TEST(Devices, AreFoundByNameAndByType) {
  static Lamp small{5};
  static Clock clock;
  static Lamp large{100};
  DeviceManager manager;
  manager.add(small);
  manager.add(clock);
  manager.add(large);
  EXPECT_EQ(small.name(), "lamp0");
  EXPECT_EQ(large.name(), "lamp1");
  EXPECT_EQ(clock.name(), "clock0");
  EXPECT_EQ(manager.find("lamp1"), &large);
  EXPECT_EQ(manager.find<Lamp>(0), &small);
  EXPECT_EQ(manager.find<Lamp>(1), &large);
  EXPECT_EQ(manager.find<Lamp>(2), nullptr);
  EXPECT_EQ(manager.find<Clock>(), &clock);
  EXPECT_EQ(manager.find("lamp"), nullptr);
  EXPECT_EQ(manager.find(""), nullptr);
  std::string all;
  manager.for_each([](void* context, Device& device) { static_cast<std::string*>(context)->append(device.name()).append(" "); },
                   &all);
  EXPECT_EQ(all, "lamp0 clock0 lamp1 ");
  EXPECT_THROW(manager.add(small), host::Panic);  // twice
}

class Controller final : public LocalInterruptController {
 public:
  void end_of_interrupt() override { ++ended; }
  void send_message_interrupt(u32) override {}
  void send_halt_to_others() override {}
  u32 ended = 0;
};

class Handler final : public InterruptHandler {
 public:
  void handle_interrupt() override { ++handled; }
  u32 handled = 0;
};

TEST(Interrupts, AreCountedByVectorAndCoreAndEnded) {
  host::Memory memory{{1 << 20}, 16 << 20};
  BootInfo info;
  info.ranges[0] = {{1 << 20}, 16 << 20, true};
  info.range_count = 1;
  memory::initialise_pages(info, {});
  memory::initialise_heap();
  static Controller controller;
  static Handler handler;
  interrupts::set_local_controller(controller);
  for (u32 core = 0; core < max_cores; ++core) ASSERT_TRUE(interrupts::prepare_core(CoreId{core}).ok());
  ASSERT_TRUE(interrupts::prepare_core(CoreId{3}).ok());  // again: nothing happens
  interrupts::set_handler(0x31, "lamp", handler);
  EXPECT_STREQ(interrupts::name_of(0x31), "lamp");
  EXPECT_EQ(interrupts::name_of(0x32), nullptr);
  EXPECT_EQ(interrupts::name_of(5'000), nullptr);

  for (u32 core : {0u, 3u, 3u, 255u}) {
    host::become_core(core);
    interrupts::dispatch(0x31);
  }
  EXPECT_EQ(handler.handled, 4u);
  EXPECT_EQ(controller.ended, 4u);
  EXPECT_EQ(interrupts::count(0x31, CoreId{0}), 1u);
  EXPECT_EQ(interrupts::count(0x31, CoreId{3}), 2u);
  EXPECT_EQ(interrupts::count(0x31, CoreId{255}), 1u);
  EXPECT_EQ(interrupts::count(0x31, CoreId{300}), 0u);

  host::become_core(7);
  static_cast<void>(host::take_log());
  for (u32 i = 0; i < 1'000'000; ++i) interrupts::dispatch(0x77);
  EXPECT_EQ(interrupts::unknown_count(), 1'000'000u);
  EXPECT_EQ(interrupts::count(0x77, CoreId{7}), 1'000'000u);
  EXPECT_EQ(controller.ended, 1'000'004u);
  const std::string log = host::take_log();
  EXPECT_EQ(log.find("0x77"), log.rfind("0x77"));  // named once
  EXPECT_NE(log.find("core 7"), std::string::npos);

  interrupts::dispatch(arch::vector_spurious);
  EXPECT_EQ(interrupts::spurious_count(), 1u);
  EXPECT_EQ(controller.ended, 1'000'004u);  // a spurious one must not be ended
  EXPECT_THROW(interrupts::set_handler(14, "page fault", handler), host::Panic);
  host::become_core(0);
}

}  // namespace
}  // namespace corral
