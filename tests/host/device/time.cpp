// Clock arithmetic, narrow counters, calibration under disturbance, and the calendar.
// sources: kernel/device/calibration.cpp kernel/device/clock.cpp
#include <gtest/gtest.h>

#include <random>

#include "device/byte_ring.h"
#include "device/calendar.h"
#include "device/calibration.h"
#include "device/clock.h"
#include "device/clock_scale.h"
#include "device/narrow_counter.h"

namespace corral {
namespace {

TEST(ClockScale, TicksToNanosecondsAndBack) {
  for (u64 frequency :
       {1'193'182ull, 3'579'545ull, 10'000'000ull, 100'000'000ull, 1'000'000'000ull, 2'893'437'221ull, 4'000'000'000ull}) {
    const ClockScale scale{frequency};
    for (u64 seconds_passed : {1ull, 3'600ull, 86'400ull * 365}) {
      const double ns = static_cast<double>(scale.to_ns(frequency * seconds_passed));
      EXPECT_NEAR(ns / (1e9 * static_cast<double>(seconds_passed)), 1.0, 2e-9) << frequency;
    }
    EXPECT_EQ(ClockScale::to_ticks(frequency, 1'000'000'000, ~u64{0}), frequency);
    EXPECT_EQ(ClockScale::to_ticks(frequency, 5'000'000'000, ~u64{0}), 5 * frequency);
    EXPECT_EQ(ClockScale::to_ticks(frequency, INT64_MAX, 0xffff'ffff), 0xffff'ffffu);
    EXPECT_EQ(ClockScale::to_ticks(frequency, -5, 100), 0u);
    EXPECT_GE(ClockScale::to_ticks(frequency, 1, 100), 1u);
  }
  // A delay of a second is a second, also where the counter has 16 bits.
  EXPECT_EQ(ClockScale::to_ticks(1'193'182, 1'000'000'000, ~u64{0}), 1'193'182u);
}

TEST(NarrowCounter, GoesOnWhereTheCounterWraps) {
  for (u32 bits : {8u, 16u, 24u, 32u}) {
    NarrowCounter<> counter;
    u64 truth = (u64{1} << bits) - 5;
    u64 previous = 0;
    for (int i = 0; i < 1000; ++i) {
      const u64 extended = counter.extend(bits, [&] { return truth; });
      EXPECT_GE(extended, previous);
      EXPECT_EQ(extended, truth);
      previous = extended;
      truth += (u64{1} << bits) / 3;
    }
  }
}

class FakeSource final : public ClockSource {
 public:
  FakeSource(u64 hertz, u32 width) : hertz_{hertz}, width_{width} {}
  [[nodiscard]] u64 read() const override { return ticks & (width_ == 64 ? ~u64{0} : (u64{1} << width_) - 1); }
  [[nodiscard]] u64 frequency() const override { return hertz_; }
  [[nodiscard]] u32 bits() const override { return width_; }
  size_t describe(char*, size_t) const override { return 0; }
  u64 ticks = 0;

 private:
  u64 hertz_;
  u32 width_;
};

TEST(Clock, StartsAtZeroAndNeverGoesBackWhenItsSourceChanges) {
  EXPECT_EQ(clock::now().ns, 0);
  static FakeSource wide{1'000'000'000, 64};
  static FakeSource narrow{3'579'545, 24};
  wide.ticks = 12'345;
  narrow.ticks = 0xff'fff0;
  clock::use(wide);
  EXPECT_EQ(clock::now().ns, 0);
  EXPECT_EQ(clock::longest_quiet().ns, never.ns);
  wide.ticks += 500'000'000;
  EXPECT_EQ(clock::now().ns, 500'000'000);
  wide.ticks = 12'340;  // another core's counter, a little behind
  EXPECT_EQ(clock::now().ns, 0);
  wide.ticks = 12'345 + 500'000'000;
  clock::use(narrow);
  EXPECT_EQ(clock::now().ns, 500'000'000);
  for (int i = 0; i < 100; ++i) {  // a second each; the counter wraps every 4.7 s
    narrow.ticks += 3'579'545;
    EXPECT_NEAR(static_cast<double>(clock::now().ns), 0.5e9 + (i + 1) * 1e9, 1e3);
  }
  EXPECT_NEAR(static_cast<double>(clock::longest_quiet().ns), 1.17e9, 1e7);
  EXPECT_EQ(&clock::source(), &narrow);
}

// A machine in which reading takes time, and which may stand still for a while at any reading.
struct Machine {
  double now = 0.0123;  // seconds
  double reading = 1e-6;
  double pause_probability = 0;
  double pause_length = 0;
  std::mt19937 random{42};

  double step() {
    now += reading;
    if (pause_probability > 0 && std::uniform_real_distribution<>{}(random) < pause_probability) now += pause_length;
    return now;
  }
};

class Ticks final : public UpCounter {
 public:
  Ticks(Machine& machine, double hertz, u32 bits = 64) : machine_{machine}, hertz_{hertz}, bits_{bits} {}
  u64 read() override {
    const u64 truth = static_cast<u64>(machine_.step() * hertz_);
    if (bits_ == 64) return truth;
    return extension_.extend(bits_, [truth] { return truth; });
  }

 private:
  Machine& machine_;
  double hertz_;
  u32 bits_;
  NarrowCounter<> extension_;
};

TEST(Calibration, MeasuresWithinItsOwnErrorBound) {
  for (double hertz : {62'500'000.0, 6'250'000.0, 3e9, 100e6}) {
    for (double reference : {1e8, 3'579'545.0, 14'318'180.0}) {
      Machine machine;
      Ticks subject{machine, hertz};
      Ticks counter{machine, reference};
      const Calibration result = calibrate(subject, counter, static_cast<u64>(reference), {});
      ASSERT_NE(result.frequency, 0u);
      EXPECT_NEAR(static_cast<double>(result.frequency) / hertz, 1.0, static_cast<double>(result.error_ppm) * 1e-6 + 1e-4);
      EXPECT_LT(result.error_ppm, 1'000u);
    }
  }
}

TEST(Calibration, ABusyHostDoesNotSpoilIt) {
  for (u32 seed = 0; seed < 50; ++seed) {
    Machine machine;
    machine.random.seed(seed);
    machine.pause_probability = 0.002;
    machine.pause_length = 0.006;
    Ticks subject{machine, 62.5e6};
    Ticks counter{machine, 1e8};
    const Calibration result = calibrate(subject, counter, 100'000'000, {});
    EXPECT_TRUE(agree_within_percent(result.frequency, 62'500'000, 1)) << result.frequency;
  }
}

TEST(Calibration, AWrapThatNobodySawIsNoticed) {
  u32 measured = 0;
  for (u32 seed = 0; seed < 50; ++seed) {
    Machine machine;
    machine.random.seed(seed);
    machine.reading = 3e-6;
    machine.pause_probability = 0.0002;
    machine.pause_length = 0.060;  // longer than 2^16 ticks of the 8254
    Ticks subject{machine, 62.5e6};
    Ticks counter{machine, 1'193'182, 16};
    CalibrationOptions options;
    options.reference_range = milliseconds(54);
    options.wanted_ppm = 2'000;
    const Calibration result = calibrate(subject, counter, 1'193'182, options);
    if (result.frequency == 0) continue;
    ++measured;
    EXPECT_TRUE(agree_within_percent(result.frequency, 62'500'000, 1)) << seed << ": " << result.frequency;
  }
  EXPECT_GT(measured, 45u);
}

TEST(Calibration, ImplausibleCountersAreRefused) {
  Machine machine;
  Ticks still{machine, 0};
  Ticks mad{machine, 6.8e12};
  Ticks counter{machine, 1e8};
  EXPECT_EQ(calibrate(still, counter, 100'000'000, {}).frequency, 0u);
  EXPECT_EQ(calibrate(mad, counter, 100'000'000, {}).frequency, 0u);
  EXPECT_TRUE(agree_within_percent(1000, 1010, 1));
  EXPECT_FALSE(agree_within_percent(1000, 1011, 1));
  EXPECT_FALSE(agree_within_percent(4'000, 1'000, 1));
}

TEST(Calendar, ToUnix) {
  const auto unix_time = [](CalendarTime time) {
    i64 seconds = -1;
    return calendar_to_unix(time, seconds) ? seconds : -1;
  };
  EXPECT_EQ(unix_time({1970, 1, 1, 0, 0, 0}), 0);
  EXPECT_EQ(unix_time({2001, 9, 9, 1, 46, 40}), 1'000'000'000);
  EXPECT_EQ(unix_time({2024, 2, 29, 12, 0, 0}), 1'709'208'000);
  EXPECT_EQ(unix_time({2024, 12, 31, 23, 59, 59}), 1'735'689'599);
  EXPECT_EQ(unix_time({2023, 2, 29, 0, 0, 0}), -1);
  EXPECT_EQ(unix_time({1969, 12, 31, 0, 0, 0}), -1);
  EXPECT_EQ(unix_time({2024, 13, 1, 0, 0, 0}), -1);
  EXPECT_EQ(unix_time({2024, 0, 1, 0, 0, 0}), -1);
  EXPECT_EQ(unix_time({2024, 1, 1, 24, 0, 0}), -1);
}

TEST(ByteRing, TakesWhatFits) {
  ByteRing<8> ring;
  EXPECT_EQ(ring.put("hello"), 5u);
  EXPECT_EQ(ring.put("world"), 3u);
  EXPECT_EQ(ring.room(), 0u);
  std::string out;
  while (!ring.empty()) out.push_back(ring.take());
  EXPECT_EQ(out, "hellowor");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(ring.put("abc"), 3u);
    EXPECT_EQ(ring.take(), 'a');
    EXPECT_EQ(ring.take(), 'b');
    EXPECT_EQ(ring.take(), 'c');
  }
}

}  // namespace
}  // namespace corral
