// Defects that the kernel can be told to have, so that its checker is tested (docs/checker.md): each is one way in which a real
// kernel went wrong, put into the place where it would happen.
//
// Only a build with CORRAL_PLANTED_DEFECTS has them (cmake -DCORRAL_PLANTED=ON); elsewhere planted() is the constant false, and
// nothing of them is in the image. Such a build has one of them at a time, none at first. Any context, any core.
#pragma once

#include <string_view>

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

enum class Plant : u8 {
  none,
  // ---- queues
  double_enqueue,
  kept_in_queue,
  uncounted_removal,
  preempted_and_forgotten,
  idle_with_work,
  // ---- the global queue
  global_entry_lost,
  global_turn_endless,
  global_cores_left_out,
  // ---- books
  numbers_not_published,
  urgency_not_published,
  weight_kept,
  time_of_turns_lost,
  time_between_turns_lost,
  idle_time_lost,
  // ---- where a thread may run
  mask_not_taken,
  mask_ignored_by_placement,
  mask_ignored_by_pull,
  mask_ignored_by_push,
  mask_ignored_by_real_time,
  groups_ignored_by_pull,
  // ---- cores that stay idle
  group_imbalance,
  group_construction,
  overload_on_wake_up,
  missing_domains,
  real_time_not_balanced,
  // ---- wake-ups and messages
  futex_wake_lost,
  queue_wake_lost,
  look_forgotten,
  left_with_requests,
  request_message_lost,
  arrival_message_lost,
  kick_missing,
  // ---- time
  tick_not_armed,
  timers_forgotten_asleep,
  virtual_time_of_migrated,
  real_time_throttled_forever,
  real_time_without_budget,
  reservation_unlimited,
  end_of_plants,
};

// As they are written to /proc/provoke, in the order of Plant.
inline constexpr std::string_view plant_names[] = {
    "none",
    "double-enqueue",
    "kept-in-queue",
    "uncounted-removal",
    "preempted-and-forgotten",
    "idle-with-work",
    "global-entry-lost",
    "global-turn-endless",
    "global-cores-left-out",
    "numbers-not-published",
    "urgency-not-published",
    "weight-kept",
    "time-of-turns-lost",
    "time-between-turns-lost",
    "idle-time-lost",
    "mask-not-taken",
    "mask-ignored-by-placement",
    "mask-ignored-by-pull",
    "mask-ignored-by-push",
    "mask-ignored-by-real-time",
    "groups-ignored-by-pull",
    "group-imbalance",
    "group-construction",
    "overload-on-wake-up",
    "missing-domains",
    "real-time-not-balanced",
    "futex-wake-lost",
    "queue-wake-lost",
    "look-forgotten",
    "left-with-requests",
    "request-message-lost",
    "arrival-message-lost",
    "kick-missing",
    "tick-not-armed",
    "timers-forgotten-asleep",
    "virtual-time-of-migrated",
    "real-time-throttled-forever",
    "real-time-without-budget",
    "reservation-unlimited",
};
static_assert(std::size(plant_names) == static_cast<size_t>(Plant::end_of_plants));

#ifdef CORRAL_PLANTED_DEFECTS

inline constexpr bool has_plants = true;
namespace detail {
inline constinit Atomic<Plant> plant_in_force{Plant::none};
inline constinit Atomic<u32> plant_chances{0};
}  // namespace detail

[[nodiscard]] inline bool planted(Plant plant) {
  return detail::plant_in_force.load(Order::relaxed) == plant;
}
// For a defect that shows only now and then: at each `nth` chance.
[[nodiscard]] inline bool planted_now_and_then(Plant plant, u32 nth) {
  return planted(plant) && detail::plant_chances.fetch_add(1, Order::relaxed) % nth == nth - 1;
}
inline void set_plant(Plant plant) {
  detail::plant_in_force.store(plant, Order::relaxed);
}

#else

inline constexpr bool has_plants = false;
[[nodiscard]] constexpr bool planted(Plant) {
  return false;
}
[[nodiscard]] constexpr bool planted_now_and_then(Plant, u32) {
  return false;
}
constexpr void set_plant(Plant) {}

#endif

}  // namespace corral
