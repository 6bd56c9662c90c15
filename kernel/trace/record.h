// What happened at a moment on a core: 64 bytes, as /dev/trace gives them to programs.
//
// In a ring stands what is quickest to write: the time is a stamp (trace/stamp.h), the priority of the thread is in the head (trace/head.h),
// names are left out, and so are the words that an event has no use for; the end of this file has what differs. Who reads /dev/trace gets
// what is told here (fs/whole_record.h). The layout is read by lab/trace/records.py as well. Numbers are little-endian; times are
// those of the machine's clock, the same on all cores. Names and priorities are those that Linux shows in its own traces: priority 120 is nice 0, less is more.
#pragma once

#include "lib/types.h"

namespace corral::trace {

enum class Event : u8 {
  switched,  // thread: who leaves; Switch
  waking,  // thread: who is woken, by the running one; Wake
  woken,  // thread: it waits in the queue of this core from now on; Wake
  created,  // the same of a new thread
  migrated,  // thread; Migration
  placed,  // thread: a core was chosen for it; Placement
  message_sent,  // Message
  message_taken,  // Message
  interrupt_begun,  // Interrupt
  interrupt_ended,  // Interrupt
  call_begun,  // thread; Call
  call_ended,  // thread; Call
  policy_changed,  // PolicyChange
  lost,  // Loss: what follows on this core is not next to what came before
  policy_made,  // this and the next ones: sched/recorded_calls.h
  policy_value,
  timeline_called,
  core_seen,
  decision_asked,
  decision_about,
  decision_answered,
  called,  // thread: a call that did not wait, at its end; Called, without arguments
  called_with,  // the same with its arguments: while this is wanted, calls that wait begin with theirs, too
  end_of_events,
};

struct Record {
  u64 time;  // nanoseconds
  Event event;
  u8 detail;
  u16 core;
  i32 thread;  // its number; 0: the core sleeps
  u64 data[6];
};
static_assert(sizeof(Record) == 64);

// ---- what `data` is ------------------------------------------------------------------------------------------------------

// A thread's name, ended by a zero if it is shorter.
struct Name {
  u64 words[2];
};
struct Label {
  Name name;
  i32 priority;
  i32 thread;
};
// Record::detail: why it leaves, in Linux's letters (R, S, X …); not_by_itself is added to R.
inline constexpr u8 not_by_itself = 0x80;
struct Switch {
  Label next;
  Name name;
  i32 priority;
};
struct Wake {
  Name name;
  i32 priority;
  u32 core;  // waking: not known yet, where it is at home
};
// Record::detail: sched::MigrationReason.
struct Migration {
  Name name;
  i32 priority;
  u32 from, to;
};
// Record::detail: in the lowest bits the sched::PlacementReason, above them the sched::ScoreUnit. The first candidates, and in any
// case the chosen one, with the scores by which the policy chose, the least of them; if it goes by no score, with their threads, those
// on the way included. Before the thread itself counts anywhere.
struct Placement {
  static constexpr u32 most = 11;
  static constexpr u32 reason_bits = 4;
  static constexpr u32 core_bits = 8, highest_core = (1u << core_bits) - 1;
  static constexpr u32 highest_score = (1u << (32 - core_bits)) - 1;  // of one that is higher, too
  u16 chosen;
  u16 candidates;
  u32 candidate[most];  // in the lowest bits the core, above them its score
};
static_assert(sizeof(Placement) == sizeof(Record::data));
struct Message {
  u32 type;
  u32 core;  // the receiver; of a message that was taken this is not known: max_cores
};
struct Interrupt {
  u32 vector;
  char name[16];
};
// Record::detail of call_begun: 0, or with_arguments.
inline constexpr u8 with_arguments = 1;
struct Call {
  u64 number;
  u64 value[5];  // with_arguments: the first of them; at its end the answer
};
// call_begun and call_ended in one. The arguments, if they are wanted, are those that its registers have at its end.
struct Called {
  static constexpr u32 number_bits = 16;
  static constexpr u64 highest_number = (1 << number_bits) - 1;  // of one that is higher, too
  u64 number_and_time;  // in the upper bits how long it took: nanoseconds; of called_with in a ring a difference of stamps
  u64 answer;
  u64 argument[4];  // of `called` all are 0
};
struct PolicyChange {
  char what[16];
  char name[32];
};
struct Loss {
  u64 records;
};

// ---- what it is in a ring, where that is something else ------------------------------------------------------------------

// switched: one word, a head that says who runs next. waking, woken, created: one word, the core. migrated: two words, from and to.
// Interrupt: its number alone. Placement: what is behind the last candidate has no meaning.
struct CalledInRing {  // of `called`
  u64 begun;  // a stamp
  u64 number;
  u64 answer;
};

}  // namespace corral::trace
