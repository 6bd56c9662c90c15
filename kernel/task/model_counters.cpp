#include "task/model_counters.h"

#include <utility>

#include "arch/emulator_marks.h"
#include "core/core.h"
#include "lib/memory_functions.h"
#include "task/thread.h"

namespace corral {

using cache_model::Event;
using cache_model::Mark;
using cache_model::Mode;
using sched::Figure;

namespace {

// Who counts what, and under which name the policies know it.
struct Counted {
  Event event;
  Figure figure;
};
constexpr Counted counted[] = {
    {Event::instructions, Figure::instructions}, {Event::cycles, Figure::cycles},         {Event::accesses, Figure::accesses},
    {Event::refills, Figure::refills},           {Event::l2_refills, Figure::l2_refills}, {Event::snoops, Figure::snoops},
};
static_assert(sizeof counted / sizeof *counted == cache_model::events);

// The model writes the sums of a seat, and `answer` while the mark `seat` is passed; all else is the kernel's.
constinit cache_model::Page page{};

cache_model::Seat& own_seat() {
  return page.seats[this_core().id().value];
}

void set_name(cache_model::Seat& seat, const Thread& thread) {
  memcpy(seat.name, thread.name, sizeof seat.name - 1);
}

}  // namespace

sched::FigureSet ModelCounters::counts() const {
  sched::FigureSet all;
  for (const Counted& each : counted) all.add(each.figure);
  return all;
}

void ModelCounters::take_seat() {
  const LockGuard guard{lock_};
  page.asking = this_core().id().value;
  arch::leave_mark<Mark::seat, &page>();
}

const char* ModelCounters::find_out() {
  if (cores::count() > cache_model::most_cores) return "a cache model counts for 64 cores at most";
  page.version = cache_model::version;
  take_seat();
  if (page.answer == cache_model::version) return nullptr;
  return page.answer == 0 ? "no cache model answers" : "the cache model is of another version";
}

ModelCounters::Reading ModelCounters::read(const cache_model::Seat& seat) {
  Reading reading;
  for (const Mode mode : {Mode::user, Mode::kernel}) {
    for (const Counted& each : counted) {
      reading.values[static_cast<u32>(mode)][static_cast<u32>(each.event)] = seat.sums.of(mode, each.event);
    }
  }
  return reading;
}

void ModelCounters::begin(sched::SchedulingEntity& entity, Instant) {
  PerCore& own = cores_[this_core().id().value];
  if (!own.seated) {
    take_seat();
    own.seated = true;
  }
  const Thread& thread = Thread::of(entity);
  cache_model::Seat& seat = own_seat();
  set_name(seat, thread);
  seat.thread.store(static_cast<u64>(thread.id().value), Order::relaxed);
  own.before = read(seat);
  arch::leave_mark<Mark::runs, &page>();
}

sched::Counts ModelCounters::look(sched::SchedulingEntity&, Instant) {
  PerCore& own = cores_[this_core().id().value];
  const Reading now = read(own_seat());
  sched::Counts counts;
  for (const Counted& each : counted) {
    const auto passed = [&](Mode mode) {
      const auto [m, e] = std::pair{static_cast<u32>(mode), static_cast<u32>(each.event)};
      return now.values[m][e] - own.before.values[m][e];
    };
    const u64 in_kernel = passed(Mode::kernel);
    counts.set(each.figure, passed(Mode::user) + in_kernel);
    counts.in_kernel[static_cast<u32>(each.figure)] = in_kernel;
  }
  own.before = now;
  return counts;
}

sched::Counts ModelCounters::end(sched::SchedulingEntity& entity, Instant now) {
  const sched::Counts counts = look(entity, now);
  set_name(own_seat(), Thread::of(entity));
  own_seat().thread.store(0, Order::relaxed);
  arch::leave_mark<Mark::runs, &page>();
  return counts;
}

}  // namespace corral
