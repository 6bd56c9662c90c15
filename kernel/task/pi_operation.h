// What a thread has to do with priority-inheriting futexes: the request that it has under way, the lock that it waits for,
// and who waits for locks that it holds. Part of Thread, so that nothing is allocated. See pi_futex.h.
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "lib/types.h"
#include "sync/guarded_section.h"
#include "task/futex_operation.h"

namespace corral::futex {

struct PiOperation {
  explicit PiOperation(Thread& owner) : thread{owner} {}

  Thread& thread;

  // ---- the request in progress: written by the thread before it is submitted; outcome by who executes it -------------
  enum class Outcome : u8 {
    pending,
    done,
    waits,           // enlisted; ends with granted, inherited or cancelled
    granted,         // the lock is the thread's, and its word says so
    inherited,       // the same, but the former owner has ended: the thread writes the word
    cancelled,       // time-out or signal while it waited for the lock
    not_requeued,    // the same while it waited to be requeued
    again,           // what the request was prepared with has changed
    later,           // the owner is ending: prepare it anew in a moment
    differs,         // eagain: the word of a requeue differs
    would_block,     // eagain
    no_owner,        // esrch
    not_owner,       // eperm
    inconsistent,    // einval: word and waiters do not go together
    deadlock,        // edeadlk
  };
  SectionRequest request;
  Outcome outcome = Outcome::pending;
  CoreId submitted_from{};
  u64 space_changes = 0;          // state of the address space for which the words were found
  Key key, target;                // of the lock; of a requeue: from, to. While enlisted changed only inside the section
  u32 *word = nullptr, *target_word = nullptr;  // kernel addresses
  u32 expected = 0, target_expected = 0;        // what they said when the request was prepared
  Thread* other = nullptr;        // the owner that the word names, or the thread that the request is about
  Ref<Thread> held;               // the same, kept by the step as long as the request may look at it
  bool try_only = false;
  u32 move = 0, affected = 0;     // requeue: at most so many more than one; woken and moved

  // ---- while enlisted: inside the section only --------------------------------------------------------------------------
  enum class Waits : u8 { no, for_lock, for_requeue, to_write } waits = Waits::no;  // to_write: owns it, outcome inherited
  u32 priority = 0;               // its thread's when it was put into the list
  ListLink key_link;              // all that wait for words with one hash, higher priorities first
  Thread* owner = nullptr;        // for_lock: who holds it. Its end releases it first, so it is there
  ListLink donor_link;            // in owner's donors

  // ---- as an owner: inside the section, but for the flags ------------------------------------------------------------------
  IntrusiveList<PiOperation, &PiOperation::donor_link> donors;  // who waits for locks of this thread
  Atomic<bool> sought{false};  // any: somebody has looked for this thread as an owner, or it was given a lock
  Atomic<bool> closed{false};  // the thread: it ends and takes no more waiters

  // ---- ending a wait early: home submits, the section executes ---------------------------------------------------------------
  SectionRequest cancel_request;
  WakeReason cancel_reason{};
  Atomic<bool> cancel_pending{false};
  Atomic<bool> enlisted{false};  // any: waits is for_lock or for_requeue
};

}  // namespace corral::futex
