// See thread_trace.h.
#include "task/thread_trace.h"

#include "sched/engine/manager.h"

namespace corral::trace {

void Switches::note_giving_away(const Thread& thread) {
  if (session_ == session() && thread_in(left_) == thread.id().value) note_sleeping();
}

void Switches::note_sleeping() {
  const u64 left = who_left();
  left_ = idle_head;
  if (thread_in(left) != 0) write_words(stamp(), left, idle_head);
}

void note_wake(const Thread& thread, u64 head) {
  write_words(stamp(), head, u64{thread.shown_core().value});
}

void note_migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to) {
  const u64 head = with_event(thread.trace_head(), Event::migrated, static_cast<u8>(why));
  write_words(stamp(), head, u64{from.value}, u64{to.value});
}

void note_placement(const Thread& thread, sched::PlacementReason reason, CoreId chosen) {
  Placement placement;  // as much of it as there are candidates
  placement.chosen = static_cast<u16>(chosen.value);
  placement.candidates = 0;
  const SchedulingManager& manager = scheduling();
  const CoreSet candidates = manager.cores() & thread.entity.allowed;
  for (u32 i = 0; i < CoreSet::words; ++i) {
    for (u64 rest = candidates.word(i); rest != 0; rest &= rest - 1) {
      if (placement.candidates < Placement::most) {
        const u32 core = 64 * i + static_cast<u32>(__builtin_ctzll(rest));
        placement.candidate[placement.candidates] = {static_cast<u16>(core),
                                                     static_cast<u16>(manager.statistics(CoreId{core}).runnable())};
      }
      ++placement.candidates;
    }
  }
  const u64 head = with_event(thread.trace_head(), Event::placed, static_cast<u8>(reason));
  u64 word[sizeof placement / sizeof(u64)];
  __builtin_memcpy(word, &placement, sizeof word);
  if (placement.candidates <= 1) return write_words(stamp(), head, word[0]);
  write_words(stamp(), head, word[0], word[1], word[2], word[3], word[4], word[5]);
}

}  // namespace corral::trace
