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

void note_migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to) {
  const u64 head = with_event(thread.trace_head(), Event::migrated, static_cast<u8>(why));
  write_words(stamp(), head, u64{from.value}, u64{to.value});
}

namespace {

// A core and its score in a word of the record.
u32 word_of(CoreId core, u64 score) {
  static_assert(Placement::most == sched::PlacementScores::most && max_cores - 1 <= Placement::highest_core);
  return core.value | static_cast<u32>(score < Placement::highest_score ? score : Placement::highest_score)
                          << Placement::core_bits;
}

// The only core where it may be, found quickly; no_core: there are several, or it is to be found out.
CoreId only_core(const sched::SchedulingEntity& entity) {
  if (!scheduling().is_settled(entity)) return sched::no_core;
  const CoreSet candidates = scheduling().cores() & entity.allowed;
  u64 later = 0;
  for (u32 i = 1; i < CoreSet::words; ++i) later |= candidates.word(i);
  const u64 first = candidates.word(0);
  if (later != 0 || first == 0) return sched::no_core;
  // Of first & (first - 1) the compiler would make twenty instructions that count bits.
  const auto lowest = static_cast<u32>(__builtin_ctzll(first));
  return first >> lowest == 1 ? CoreId{lowest} : sched::no_core;
}

// Where there is a choice.
[[gnu::noinline]] CoreId place_among_several(Thread& thread, sched::PlacementReason reason) {
  sched::PlacementScores scores;
  const CoreId chosen = scheduling().place(thread.entity, reason, &scores);
  Placement placement;  // what is behind the last candidate has no meaning
  placement.chosen = static_cast<u16>(chosen.value);
  placement.candidates = static_cast<u16>(scores.candidates);
  for (u32 i = 0; i < scores.listed; ++i) {
    placement.candidate[i] = word_of(scores.candidate[i].core, scores.candidate[i].score);
  }
  const u32 detail = static_cast<u32>(reason) | static_cast<u32>(scores.unit) << Placement::reason_bits;
  const u64 head = with_event(thread.trace_head(), Event::placed, static_cast<u8>(detail));
  u64 word[sizeof placement / sizeof(u64)];
  __builtin_memcpy(word, &placement, sizeof word);
  write_words(stamp(), head, word[0], word[1], word[2], word[3], word[4], word[5]);
  return chosen;
}

}  // namespace

CoreId place(Thread& thread, sched::PlacementReason reason) {
  const CoreId only = only_core(thread.entity);
  if (only == sched::no_core) return place_among_several(thread, reason);
  // Ready before, so that little has to be kept meanwhile.
  const u64 head = with_event(thread.trace_head(), Event::placed, static_cast<u8>(reason));
  const u64 candidates = u64{1} << 16 | u64{word_of(only, scheduling().statistics(only).load())} << 32;
  const CoreId chosen = scheduling().place(thread.entity, reason);
  write_words(stamp(), head, chosen.value | candidates);
  return chosen;
}

}  // namespace corral::trace
