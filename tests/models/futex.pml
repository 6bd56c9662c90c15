/*
 * Futexes: waiting, waking, moving and cancelling (kernel/task/futex.cpp, over kernel/sync/guarded_section.h).
 *
 * WAITERS threads wait for a word of bucket A; others wake, requeue from A to B and from B to C; each wait may be ended
 * early by its home (a time-out or a signal). A bucket is a guarded section: requests are executed one at a time and in order of
 * arrival, by whichever core is inside. Here each bucket has an executor of its own, which may be as slow as it likes:
 * that is every interleaving that cores inside the sections can give (the section itself: tests/host/relacy).
 *
 *   model                   source
 *   submit()                GuardedSection::submit
 *   executor, WAIT          execute_wait and compare;  differs: finish(Outcome::differs)
 *   executor, WAKE          execute_wake, wake_matching, take_out
 *   executor, REQUEUE       execute_requeue
 *   executor, ARRIVE        execute_arrival
 *   executor, CANCEL        execute_cancel
 *   waiter                  futex::wait, Executive::block_current, Thread::finish_wait
 *   home                    Thread::end_wait_early, Place::cancel
 *
 * Checked:
 *   - each wait ends once: nobody is woken twice, or while not waiting;
 *   - each wait ends (no invalid end state): a wake-up after the word was changed, and a cancel, are never lost;
 *   - a thread is taken only out of the bucket that it is in, and enters one only when it is in none;
 *   - a wait ends as cancelled only when it was cancelled, and a request is never chained in twice;
 *   - wakers counted exactly the waits that ended by being woken.
 *
 * Without options: one thread, WAITS waits one after the other, each of which may be cancelled. -DNO_CANCEL -DWAITERS=2: nobody
 * cancels, the waker changes the word and wakes all: every wait must end all the same. (-DWAITERS=2 -DWAITS=1 holds too,
 * but has 21 million states: three minutes and 4 GB, so tests/models/run leaves it out.)
 * Not modelled: threads of other words in the same bucket, bit sets, and a word whose page is replaced meanwhile.
 *
 * Mutations, each of which must be found out (tests/models/run):
 *   COMPARE_OUTSIDE   the word is compared before the section only
 *   NO_CHASE          a cancel that finds the thread moved takes it for woken
 *   NULL_ON_THE_WAY   a thread that is being moved is nowhere for a moment
 *   NO_PARKING        a cancel does not ask whether the thread has arrived
 *   NO_PENDING        a wait ends although its cancel is still on its way
 *   TWO_CANCELS       home may cancel a wait twice (a time-out and a signal)
 *   WAKE_FIRST        a waker wakes the thread before it takes it out
 */
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef WAITS
#define WAITS 2
#endif
#define NOWHERE 0 /* buckets: A = 1, B = 2, C = 3 */
#define A 1

mtype = { WAIT, WAKE, REQUEUE, ARRIVE, CANCEL };
mtype = { pending, done, differs };

bool word_changed;              /* the word has no longer the value that waiters expect */
byte told, counted;             /* waits that ended by a wake-up; wake-ups that wakers counted */

/* of a thread's Operation */
byte bucket[WAITERS];
byte linked_at[WAITERS];        /* the list that link is in */
mtype outcome[WAITERS];
bool cancel_pending[WAITERS], cancel_waits[WAITERS];
bool chained_cancel[WAITERS];   /* cancel_request is in a chain */
byte cancel_at[WAITERS];
/* of the Thread */
bool waiting[WAITERS];          /* from wait_at() until the wake-up is delivered */
bool place[WAITERS];            /* wait_place_ */
bool was_cancelled[WAITERS];    /* this wait */
bool woken[WAITERS];            /* Request::wake */
bool by_cancel[WAITERS];        /* pending_reason_ */
bool finished[WAITERS];

chan chain[4] = [8] of { mtype, byte };

inline submit(to, what, who) { chain[to]!what, who }

inline wake_thread(who, cancelled) {
  atomic {
    assert(waiting[who] && !woken[who]);
    by_cancel[who] = cancelled;
    woken[who] = true
  }
}

inline take_out(who) {
  assert(linked_at[who] == here);
  linked_at[who] = NOWHERE;
  bucket[who] = NOWHERE
}

inline enter_list(who) {
  assert(linked_at[who] == NOWHERE);
  linked_at[who] = here
}

inline end_cancelled(who) {
  cancel_pending[who] = false;
  wake_thread(who, true)
}

proctype executor(byte here) {
  byte who, i, at;
end:
  do
  :: chain[here]?WAIT, who ->
     if
#ifndef COMPARE_OUTSIDE
     :: word_changed -> outcome[who] = differs; wake_thread(who, false)
     :: !word_changed ->
#else
     :: true ->
#endif
        bucket[who] = here;
        outcome[who] = done;
        enter_list(who)
     fi
  :: chain[here]?WAKE, who ->                            /* who: how many */
     for (i : 0 .. WAITERS - 1) {
       if
       :: who > 0 && linked_at[i] == here ->
          who--;
          atomic { counted++ }
#ifdef WAKE_FIRST
          wake_thread(i, false);
          take_out(i)
#else
          take_out(i);
          wake_thread(i, false)
#endif
       :: else
       fi
     }
  :: chain[here]?REQUEUE, _ ->
     for (i : 0 .. WAITERS - 1) {
       if
       :: linked_at[i] == here ->
          linked_at[i] = NOWHERE;
#ifdef NULL_ON_THE_WAY
          bucket[i] = NOWHERE;
#endif
          bucket[i] = here + 1;
          submit(here + 1, ARRIVE, i)
       :: else
       fi
     }
  :: chain[here]?ARRIVE, who ->
     assert(bucket[who] == here);
     if
     :: cancel_waits[who] -> cancel_waits[who] = false; bucket[who] = NOWHERE; end_cancelled(who)
     :: else -> enter_list(who)
     fi
  :: chain[here]?CANCEL, who ->
     chained_cancel[who] = false;
     at = bucket[who];
     if
     :: at == NOWHERE -> cancel_pending[who] = false
#ifdef NO_CHASE
     :: at != NOWHERE && at != cancel_at[who] -> cancel_pending[who] = false
#else
     :: at != NOWHERE && at != cancel_at[who] ->
        cancel_at[who] = at;
        chained_cancel[who] = true;
        submit(at, CANCEL, who)
#endif
     :: at != NOWHERE && at == cancel_at[who] ->
#ifndef NO_PARKING
        if
        :: linked_at[who] == NOWHERE -> cancel_waits[who] = true
        :: else ->
           take_out(who);
           end_cancelled(who)
        fi
#else
        take_out(who);
        end_cancelled(who)
#endif
     fi;
     at = 0
  od
}

proctype waiter(byte me) {
  byte waits;
  for (waits : 1 .. WAITS) {
    if
    :: word_changed -> break                             /* the look before anything is submitted */
    :: else
    fi;
    atomic {
      bucket[me] = NOWHERE; outcome[me] = pending; was_cancelled[me] = false;
      waiting[me] = true; place[me] = true;              /* wait_at() */
      submit(A, WAIT, me)                                /* the same step: home does nothing in between */
    }
    atomic { woken[me] -> woken[me] = false; waiting[me] = false; place[me] = false }
#ifndef NO_PENDING
    !cancel_pending[me];                                 /* pause_until(), again and again */
#endif
    assert(linked_at[me] == NOWHERE);
    assert(outcome[me] != pending);
    if
    :: outcome[me] == done && by_cancel[me] -> assert(was_cancelled[me])
    :: outcome[me] == done && !by_cancel[me] -> atomic { told++ }
    :: outcome[me] == differs -> assert(!by_cancel[me])
    fi
  }
  finished[me] = true
}

#ifndef NO_CANCEL
/* A time-out or a signal, between two steps of the thread's home. Every wait is ended this way if by nothing else. */
proctype home(byte mine) {
end:
  do
  :: atomic {
       place[mine] && !woken[mine] ->                        /* wait_place_ != nullptr */
#ifndef TWO_CANCELS
       place[mine] = false;
#endif
       assert(!chained_cancel[mine]);
       was_cancelled[mine] = true;
       cancel_at[mine] = A;
       cancel_pending[mine] = true;
       chained_cancel[mine] = true
     }
     submit(A, CANCEL, mine)
  od
}

active proctype waker() { submit(A, WAKE, 1); submit(3, WAKE, WAITERS) }
active proctype mover() { submit(A, REQUEUE, 0) }
active proctype second_mover() { submit(2, REQUEUE, 0) }
#else
active proctype waker() { word_changed = true; submit(A, WAKE, WAITERS) }
#endif

init {
  atomic {
    byte i;
    run executor(1); run executor(2); run executor(3);
    for (i : 0 .. WAITERS - 1) {
      run waiter(i);
#ifndef NO_CANCEL
      run home(i)
#endif
    }
  }
  finished[0] && finished[WAITERS - 1];
  timeout -> assert(told == counted)
}
