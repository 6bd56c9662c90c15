// See placement_recorder.h.
#include "sched/engine/placement_recorder.h"

#include "sched/engine/random_source.h"
#include "sched/engine/recorded_timeline.h"
#include "trace/trace.h"

namespace corral::sched {

namespace {

constinit PlacementRecorder* asking = nullptr;  // under its lock

// The cores that a policy may look at.
CoreSet cores_seen(const PlacementRequest& request) {
  CoreSet seen = request.candidates;
  seen.add(request.here);
  seen.add(request.entity.last_core);
  return seen;
}

}  // namespace

u64 PlacementRecorder::draw() {
  ++asking->draws_;
  return asking->last_draw_ = random_source::next();
}

bool PlacementRecorder::is_made(const PlacementDescriptor& descriptor, const TunableValues& values) const {
  return descriptor_ == &descriptor && session_ == trace::session() && values_ == values;
}

bool PlacementRecorder::make(const PlacementDescriptor& descriptor, const TunableValues& values) {
  descriptor_ = nullptr;
  if (descriptor.size > room || !arch::ask_guarded(policy_, descriptor.make, static_cast<void*>(object_))) return false;
  descriptor_ = &descriptor;
  values_ = values;
  session_ = trace::session();
  return true;
}

CoreId PlacementRecorder::ask(const PlacementDescriptor& descriptor, const TunableValues& values,
                              const PlacementRequest& request, std::span<const CoreStatistics> cores) {
  LockGuard guard{lock_};
  if (!is_made(descriptor, values)) {
    if (!make(descriptor, values)) return no_core;
    note_policy_made(PolicyKind::placement, descriptor, values, {}, session_, number_);
  }
  const CoreSet seen = cores_seen(request);
  seen.for_each([&](CoreId core) {
    const CoreSeen look{cores[core.value].words()};
    copies_[core.value].show(look.words);
    trace::write(trace::Event::core_seen, 0, static_cast<i32>(core.value), look);
  });
  const CoreId chosen = ask_policy(request);
  seen.for_each([&](CoreId core) { copies_[core.value].show({}); });

  PlacementAsked asked{request.now.ns, {}, static_cast<u16>(request.here.value), static_cast<u16>(seen.count())};
  static_assert(CoreSet::words <= PlacementAsked::words);
  for (u32 i = 0; i < CoreSet::words; ++i) asked.candidates[i] = request.candidates.word(i);
  trace::write(trace::Event::placement_asked, static_cast<u8>(request.reason), request.entity.number, asked);
  const PlacementAnswered answered{EntitySeen::of(request.entity), last_draw_, static_cast<u16>(draws_),
                                   static_cast<u16>(chosen.value), number_++};
  trace::write(trace::Event::placement_answered, 0, request.entity.number, answered);
  return request.candidates.contains(chosen) ? chosen : no_core;
}

CoreId PlacementRecorder::ask_policy(const PlacementRequest& request) {
  asking = this;
  draws_ = 0;
  last_draw_ = 0;
  CoreId chosen = no_core;
  const SystemView view{copies_, draw, values_};
  if (!arch::ask_guarded<&PlacementPolicy::select>(chosen, *policy_, request, view)) {
    descriptor_ = nullptr;  // in what state it is nobody knows
    return no_core;
  }
  return chosen;
}

}  // namespace corral::sched
