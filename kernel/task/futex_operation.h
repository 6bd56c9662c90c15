// The futex operation that a thread has under way: part of Thread, so that waiting and waking allocate nothing.
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "lib/types.h"
#include "sync/guarded_section.h"

namespace corral {
class Thread;
enum class WakeReason : u8;
}  // namespace corral

namespace corral::futex {

struct Bucket;
class VectorWait;

// Which word: of one address space, or (space 0) of physical memory when processes share it.
struct Key {
  u64 space = 0;
  u64 address = 0;
  bool operator==(const Key&) const = default;
};

struct Operation {
  explicit Operation(Thread& owner) : thread{owner} {}

  Thread& thread;
  VectorWait* vector = nullptr;  // of which this is an entry (futex_vector.h); null: the thread's own. Never changed

  // ---- the request in progress: written by the thread before it is submitted; results by who executes it --------------
  SectionRequest request;
  Key key, target;              // target: requeue. While waiting, `key` is changed only inside the section
  Key first_key;                // where the wait began: home looks for it there first
  const u32* word = nullptr;    // kernel address, compared in the section
  u64 space_changes = 0;        // state of the address space for which `word` was found
  u32 expected = 0;
  bool compare = false;         // requeue: compare first
  u32 bits = 0, count = 0, move = 0;
  u32 priority = 0;             // real-time priority of a thread that waits; 0: none
  CoreId submitted_from{};
  enum class Outcome : u8 { pending, done, differs, again } outcome = Outcome::pending;
  u32 woken = 0, moved = 0;  // woken, of an entry: 1 when a waker has taken it out

  // ---- while waiting: changed only inside the section of `bucket` ------------------------------------------------------
  ListLink link;
  // Where the thread waits or is being moved to; null: nowhere. Atomic because a cancel in the section that the thread has
  // left reads it while the section that it is in may change it; any value read leads to the right place. On the way, `link`
  // is in no list yet.
  Atomic<Bucket*> bucket{nullptr};
  SectionRequest move_request;

  // ---- ending a wait early: home submits, the section executes -----------------------------------------------------------
  SectionRequest cancel_request;
  WakeReason cancel_reason{};
  Bucket* cancel_at = nullptr;
  bool cancel_waits = false;           // in the section of `bucket`, for the thread to arrive there
  Atomic<bool> cancel_pending{false};  // the cancel_request is in use; of an entry: any request
};

}  // namespace corral::futex
