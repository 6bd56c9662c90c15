// SchedulingAlgorithm: the timeline of one core — which of its waiting threads runs next, and until when.
//
// A new algorithm is one new file in sched/algorithms/ that no other file mentions: derive, implement, and end the file
// with CORRAL_SCHEDULING_ALGORITHM(...).
//
// The contract between the engine (sched/engine/scheduler.h) and an algorithm:
//  - There is one object for each core. Calls come from that core only, interrupts off, never nested: no locks, no
//    waiting, no allocation, no globals. Time comes in as `now`.
//  - An entity is handed in by enqueue() and belongs to the algorithm until pick() returns it or dequeue() takes it out.
//    The running entity is not in the algorithm.
//  - The running entity goes on by review(), comes back by enqueue() as `preempted` or `yielded`, or leaves by depart(): it
//    sleeps, ends, or goes to another core or class. It may come back on another core. What must survive that is kept in
//    the entity: SchedulingEntity::timeline has room for a type of the algorithm's own.
//  - After a change of algorithm at run time, or of the entity's class, the running entity is one that this object never
//    picked: charge(), review() and depart() must cope.
//  - The engine checks every answer (entity really queued here, allowed on this core) and counts violations. Who answers
//    what cannot be, faults, or does not come back is replaced on that core at once (docs/safety.md).
#pragma once

#include <type_traits>

#include "sched/policy.h"
#include "sched/registry.h"
#include "sched/scheduling_entity.h"

namespace corral::sched {

// Why an entity comes (back) into the queue.
enum class EnqueueReason : u8 { created, woken, preempted, yielded, migrated };

struct Decision {
  SchedulingEntity* entity = nullptr;  // null: nothing waits
  Instant until = never;               // the engine asks again at that time if it still runs; never: no tick needed
};

// What an algorithm is told when it is made.
struct AlgorithmParameters {
  CoreId core{};
  Duration tick = milliseconds(4);  // 1 / timer.hz: the natural quantum
  TunableValues tunables{};         // in the order of the algorithm's own table
};

class SchedulingAlgorithm {
 public:
  virtual ~SchedulingAlgorithm() = default;

  // `entity` waits from now on. After `preempted` or `yielded` it was running on this core until now.
  virtual void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) = 0;
  // A waiting entity leaves (moves to another core, ends, changes class).
  virtual void dequeue(SchedulingEntity& entity, Instant now) = 0;
  // Takes out the entity that shall run now.
  virtual Decision pick(Instant now) = 0;
  // `running` has used the core for `used` more; called before every other call that concerns the running entity's turn.
  virtual void charge(SchedulingEntity& running, Duration used, Instant now) = 0;
  // `running`, charged, leaves the core and does not wait here.
  virtual void depart(SchedulingEntity& /*running*/, Instant /*now*/) {}
  // Something was enqueued while `running` runs: until when may it go on? `now`: preempt it at once.
  virtual Instant review(const SchedulingEntity& running, Instant now) = 0;
  // Waiting entities.
  [[nodiscard]] virtual u32 waiting() const = 0;
  // Any waiting entity, preferring the one that would run last (to migrate it); null when none waits.
  virtual SchedulingEntity* last_waiting() = 0;
};

// sched.algorithm=NAME
struct AlgorithmDescriptor : PolicyDescription {
  size_t size;  // bytes of storage that make() needs, at alignment 64
  SchedulingAlgorithm* (*make)(void* storage, const AlgorithmParameters& parameters);
  // How long it may hold somebody back beside each of the others, though a fair share is due: its longest turn and what else it
  // does on purpose (engine/starvation.h).
  Duration (*holds_back)(const AlgorithmParameters& parameters) = nullptr;  // null: never
  bool departs = true;  // its depart() does something
};
inline constexpr Duration holds_back_forever{INT64_MAX};

// A class may say so: static Duration holds_back(const AlgorithmParameters&).
template <class Class>
consteval auto holds_back_of() -> Duration (*)(const AlgorithmParameters&) {
  if constexpr (requires { &Class::holds_back; }) {
    return &Class::holds_back;
  } else {
    return nullptr;
  }
}
template <class Class>
consteval bool has_own_depart() {
  return !std::is_same_v<decltype(&Class::depart), decltype(&SchedulingAlgorithm::depart)>;
}

[[nodiscard]] std::span<const AlgorithmDescriptor* const> algorithms();
[[nodiscard]] const AlgorithmDescriptor* find_algorithm(std::string_view name);  // null: no such name
inline constexpr const char* default_algorithm = "cfs";

// After the description may stand the name of a table of tunables that is a constant of the class.
#define CORRAL_SCHEDULING_ALGORITHM(Class, name, description, ...)                                                       \
  namespace {                                                                                                            \
  ::corral::sched::SchedulingAlgorithm* make_it(void* storage, const ::corral::sched::AlgorithmParameters& parameters) { \
    return ::new (storage) Class(parameters);                                                                            \
  }                                                                                                                      \
  constinit const ::corral::sched::AlgorithmDescriptor descriptor{{name, description __VA_OPT__(, Class::) __VA_ARGS__}, \
                                                                  sizeof(Class),                                         \
                                                                  make_it,                                               \
                                                                  ::corral::sched::holds_back_of<Class>(),               \
                                                                  ::corral::sched::has_own_depart<Class>()};             \
  __VA_OPT__(static_assert(::corral::sched::are_right(Class::__VA_ARGS__));)                                             \
  CORRAL_REGISTER(corral_algorithms, ::corral::sched::AlgorithmDescriptor, descriptor);                                  \
  }

}  // namespace corral::sched
