// The account of policies that failed: what was wrong, where, who waited, and what had been decided before. In the log a line;
// all of it in /proc/sched-dump, for people and for tools (docs/safety.md has the form).
//
// Each record is written once, by the core that noticed, and published when it is complete: no lock. The first ones are kept.
#pragma once

#include "sched/engine/policy_slots.h"
#include "sched/engine/run_queue.h"

namespace corral::sched::fallbacks {

inline constexpr u32 kept = 16;  // records; later ones are only counted

// The core itself, interrupts off, any lock but the log's.
void note_timeline(RunQueue& queue, const AlgorithmDescriptor& failed, const TunableValues& values, Misdeed misdeed,
                   PolicyCall call, Instant now);
// A policy of the whole machine, of `cores`, whose `numbers` it saw. `kind`: "placement", "migration" or "groups"; `queue`: of the core
// that asked, which is the caller; null: it has none yet. Interrupts off, any lock but the log's.
void note_shared(const char* kind, const PolicyDescription& failed, const TunableValues& values, const PolicyFailure& failure,
                 RunQueue* queue, std::span<const CoreStatistics> numbers, const CoreSet& cores);
// A timeline's object that could not be made; nothing was replaced.
void note_not_made(const AlgorithmDescriptor& failed);

// The seed of the run, to be told in records; 0: none. Boot context.
void set_seed(u64 seed);
[[nodiscard]] u32 count();
// All records as text; writes at most `size` bytes, returns how many. Any core.
size_t describe(char* to, size_t size, Duration tick);

}  // namespace corral::sched::fallbacks
