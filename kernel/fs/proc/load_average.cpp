// Sampling the load. See load_average.h.
#include "fs/proc/load_average.h"

#include "core/core.h"
#include "device/clock.h"
#include "sched/engine/manager.h"

namespace corral::fs {

namespace {

// Written by the bootstrap core's timer; each word is right by itself.
constinit Atomic<u64> minutes_1{0}, minutes_5{0}, minutes_15{0};
constinit Atomic<u32> started{0};

void sample(TimerEvent& event) {
  u64 running = scheduling().global_queue().waiting();
  cores::online().for_each([&](CoreId id) { running += scheduling().statistics(id).runnable(); });
  LoadAverages load = load_averages();
  load.add(running);
  minutes_1.store(load.minutes_1, Order::relaxed);
  minutes_5.store(load.minutes_5, Order::relaxed);
  minutes_15.store(load.minutes_15, Order::relaxed);
  this_core().timers().add(event, clock::now() + load_sample_period);
}

alignas(TimerEvent) constinit u8 storage[sizeof(TimerEvent)] = {};

}  // namespace

void start_load_sampling() {
  if (started.exchange(1, Order::relaxed) != 0) return;
  auto* event = ::new (storage) TimerEvent(sample);
  this_core().timers().add(*event, clock::now() + load_sample_period);
}

LoadAverages load_averages() {
  return {minutes_1.load(Order::relaxed), minutes_5.load(Order::relaxed), minutes_15.load(Order::relaxed)};
}

}  // namespace corral::fs
