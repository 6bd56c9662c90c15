// MigrationPolicy: when does a thread that waits, or has just lost its core, move to another one? Blind to timelines and
// placements.
//
// A new policy is one new file in sched/migration/. It takes part in two moments, or in one, or in none, and says so by
// hiding the constants `pushes` and `pulls`:
//  - pushes: push() is called by a core whose running entity has to go though it wanted to go on (the end of its slice).
//  - pulls: ask() is called by a core that has nothing to run. The core that it answers is sent a message; there
//    leaves_at() is called for its waiting entities, those that would run last first, until one may go. What was refused is
//    not asked for again: a core that later has somebody to spare looks for idle cores by itself, and calls leaves_at()
//    for them too.
// Contract: any core, possibly several at once; the object's own state must therefore be atomics. No locks, no waiting, no
// allocation. Only entities of the timeline are spoken of: the real-time class has a balance of its own. The engine
// (engine/migrator.h) guards every call and checks every answer; a policy that does wrong is replaced, and then nobody moves.
#pragma once

#include "sched/registry.h"
#include "sched/scheduling_entity.h"
#include "sched/system_view.h"

namespace corral::sched {

struct PushRequest {
  const SchedulingEntity& entity;  // still counted in the load of `here`
  CoreSet candidates;              // online and allowed, without `here`
  CoreId here;
  Instant now;
};

struct PullRequest {
  CoreSet candidates;   // online, without `here` and those that have refused since it had something to run
  CoreId here;          // idle
  Instant now;
  Instant last_asked;   // when this core asked last; Instant{}: never
};
struct PullAnswer {
  CoreId from = no_core;  // a candidate; no_core: nobody has anything to spare
  Instant at{};           // not before this; until then the core sleeps and asks its policy again. Within an hour
};

struct LeaveRequest {
  const SchedulingEntity& entity;  // waits
  const CoreSet& candidates;       // idle cores that want something, of which one would get it: never empty
  CoreId here;                     // where it waits
  u32 spare;                       // how many wait there besides the one that runs or is about to
  Instant now;

  // When this core's cache has forgotten the entity, which takes so long.
  [[nodiscard]] Instant cold_after(Duration hot) const {
    return entity.has_run() && entity.last_core == here ? entity.last_ran + hot : now;
  }
};

class MigrationPolicy {
 public:
  static constexpr bool pushes = false;
  static constexpr bool pulls = false;

  virtual ~MigrationPolicy() = default;
  // A candidate; no_core: it stays.
  virtual CoreId push(const PushRequest& /*request*/, const SystemView& /*system*/) { return no_core; }
  virtual PullAnswer ask(const PullRequest& /*request*/, const SystemView& /*system*/) { return {}; }
  // From when on it may go to an idle core, within an hour; never: it may not, as things are.
  virtual Instant leaves_at(const LeaveRequest& /*request*/, const SystemView& /*system*/) { return never; }
};

// sched.migration=NAME
struct MigrationDescriptor : PolicyDescription {
  bool pushes, pulls;
  size_t size;
  MigrationPolicy* (*make)(void* storage);
};

[[nodiscard]] std::span<const MigrationDescriptor* const> migrations();
inline constexpr const char* default_migration = "pull";

// After the description may stand the name of a table of tunables that is a constant of the class.
#define CORRAL_MIGRATION_POLICY(Class, name, description, ...)                                                     \
  namespace {                                                                                                      \
  ::corral::sched::MigrationPolicy* make_it(void* storage) {                                                       \
    return ::new (storage) Class();                                                                                \
  }                                                                                                                \
  constinit const ::corral::sched::MigrationDescriptor descriptor{                                                 \
      {name, description __VA_OPT__(, Class::) __VA_ARGS__}, Class::pushes, Class::pulls, sizeof(Class), make_it}; \
  __VA_OPT__(static_assert(::corral::sched::are_right(Class::__VA_ARGS__));)                                       \
  CORRAL_REGISTER(corral_migrations, ::corral::sched::MigrationDescriptor, descriptor);                            \
  }

}  // namespace corral::sched
