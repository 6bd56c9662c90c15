/*
 * The home of a thread: who may touch it, how others ask, and how it moves (kernel/task/thread.cpp, home.cpp and executive.cpp there).
 *
 * One thread on CORES cores. Any core may wake it when it waits, and wish it onto other cores, at any moment: between two
 * of its own steps, or in the thread's step. Each core is one process, so what it does is in order; cores interleave at
 * each access to what they share.
 *
 *   model                   source
 *   request()               Thread::request; look_later(): Executive::look_later
 *   core, THREAD            Executive::on_thread_message, Thread::message_arrived
 *   core, ARRIVE            Executive::on_arrival
 *   look_at()               Executive::look_at, Thread::take_requests, Thread::take_wishes, Thread::finish_wait
 *   send_away()             Executive::send_away_unless_allowed
 *   make_runnable()         Executive::make_runnable, SchedulingManager::place
 *   send_to()               Executive::send_to
 *   core, the thread's step Executive::run_step, Executive::block_current, WaitQueue::wait
 *   finish_step()           Executive::finish_step, Executive::preempt_current
 *   core 0's beginning      clone(): Process::add_thread, Executive::start
 *   with -DGLOBAL, where a thread that may run everywhere waits in the queue of all cores:
 *   settle()                Thread::settled_home, Executive::take_from_global, GlobalQueue::take_out
 *   enter_global()          Executive::enter_global, GlobalQueue::put; what is under the level's lock is one step
 *   enter_global_again()    Executive::enter_global_again
 *   core, invite_guest()    Executive::invite_guest, GlobalQueue::take
 *   with -DWAKERS, where a thread that sleeps belongs to nobody, and who wakes it becomes its home:
 *   settle()                Thread::settled_home
 *   leave_to_wakers()       Executive::leave_to_wakers; a thread that waits for a timer, too, keeps its home
 *
 * Checked:
 *   - only its home touches the thread (touch()), and it is in one place at a time;
 *   - it never waits for ever, nor waits on a core that it may not use (no invalid end state);
 *   - a wake-up comes only to a thread that sleeps, once for each wait;
 *   - with -DSTAYS, where the thread goes on in user mode instead of ending: in the end the last wish is in force;
 *   - the letter that tells home to look is not used twice at a time, and nobody uses the thread without a reference.
 *
 * A mailbox never fills up here (at most two messages are about one thread): that is the outbox's (tests/host/core).
 * There is no negative answer in this protocol: who moved is followed by forwarding.
 *
 * Mutations, each of which must be found out (tests/models/run):
 *   WISHES_LATE       a wish is taken after the wake-up that came with it
 *   ARRIVE_ANYWAY     an arriving thread stays although its wishes were taken before it came
 *   NO_FORWARD        who gets the message looks at the thread, wherever it is
 *   HOME_LATE         the new home is written after the message to it was sent
 *   NO_LOOK_BLOCKED   a thread that blocks is not looked at
 *   NO_LOOK_RUNNING   nor one that runs, when the message comes (with -DSTAYS)
 *   LETTER_FREED      taking the requests frees the letter that is on its way
 *   CREATED_ELSEWHERE a new thread's home is another core than the one that makes it
 *   NO_REFERENCE      a message holds no reference
 *   with -DGLOBAL:
 *   GLOBAL_KEPT       who puts the thread into the global queue stays its home
 *   GLOBAL_LOST       a thread that was taken out because something is asked of it is not put back
 *   GLOBAL_UNSETTLED  who gets a message about it does not become its home
 *   with -DWAKERS:
 *   WAKERS_BOTH       of two who find that it belongs to nobody both become its home
 *   WAKERS_UNSEEN     a thread of which something is asked already is left to whoever asks next
 *   WAKERS_UNSETTLED  who gets a message about it does not become its home
 */
#ifndef CORES
#define CORES 3
#endif
#ifndef WAITS
#define WAITS 2
#endif
#ifndef WISHES
#define WISHES 2
#endif
#define ALL ((1 << CORES) - 1)

mtype = { THREAD, ARRIVE };
mtype = { nowhere, on_the_way, queued, running, global };
mtype = { created, runnable, sleeping, ended };

#ifdef CREATED_ELSEWHERE
byte home = 1;
#else
byte home = 0;
#endif
mtype state = created;
mtype place = nowhere;
byte queue_of;                  /* where it is queued or runs */
#define nobody 255              /* home of who waits in the global queue */
#define anybody 254             /* home of who sleeps, and may be woken by every core */
byte allowed = ALL, wished = ALL;
bool wake_asked, placement_asked, message_on_its_way;  /* requests_ */
bool letter_used;               /* request_letter_ is in a mailbox */
byte in_look_list;              /* 0: in none; else 1 + the core */
bool in_wait_queue;             /* who takes it off may wake it */
byte references = 1;            /* the one that runs */
byte waits = WAITS, wishes = WISHES;

chan mail[CORES] = [3] of { mtype };

inline touch() { assert(home == me) }
inline alive() { assert(references > 0) }

inline look_later() {
  if
  :: (place == running && queue_of == me) || in_look_list != 0
  :: else -> in_look_list = me + 1
  fi
}

inline drop() {
#ifndef NO_REFERENCE
  atomic { references-- }
#else
  skip
#endif
}

inline settle() {
  h = home;
  do
  :: h < anybody -> break
#ifdef GLOBAL
  :: h == nobody ->
     atomic { /* under the level's lock */
       if
       :: place == global -> place = nowhere; home = me
       :: else
       fi
     }
     h = home;
     if
     :: h == me && place == nowhere && state == runnable -> look_later()
     :: else
     fi
#endif
#ifdef WAKERS
  :: h == anybody ->
#ifdef WAKERS_BOTH
     home = me;
#else
     atomic {
       if
       :: home == anybody -> home = me
       :: else
       fi
     }
#endif
     h = home
#endif
  od
}

inline leave_to_wakers() {
  touch();
  if
  :: in_look_list == me + 1 -> in_look_list = 0
  :: else -> assert(in_look_list == 0)
  fi;
  home = anybody
}

inline request(is_wake) {
  settle();
  if
  :: h == me ->
     d_step { wake_asked = wake_asked || is_wake; placement_asked = placement_asked || !is_wake };
     look_later()
  :: else ->
#ifndef NO_REFERENCE
     atomic { alive(); references++ };
#endif
     d_step {
       told = message_on_its_way;
       wake_asked = wake_asked || is_wake;
       placement_asked = placement_asked || !is_wake;
       message_on_its_way = true
     }
     if
     :: told -> drop()
     :: else ->
        assert(!letter_used);
        letter_used = true;
        settle();
        mail[h]!THREAD
     fi
  fi
}

inline enter_global() {
  touch();
  if
  :: in_look_list == me + 1 -> in_look_list = 0
  :: else -> assert(in_look_list == 0)
  fi;
  assert(place == nowhere);
#ifdef GLOBAL_KEPT
  place = global
#else
  atomic { place = global; home = nobody }
#endif
}

inline send_to(target) {
  if
  :: target == me ->
     touch();
     assert(place == nowhere);
     d_step { place = queued; queue_of = me }
  :: else ->
     touch();
     if
     :: in_look_list == me + 1 -> in_look_list = 0
     :: else -> assert(in_look_list == 0)
     fi;
     assert(place == nowhere);
     place = on_the_way;
#ifdef HOME_LATE
     mail[target]!ARRIVE;
     home = target
#else
     home = target;
     mail[target]!ARRIVE
#endif
  fi
}

inline choose() {
  /* SchedulingManager::place: any core that the thread may use */
  if
  :: allowed & 1 -> to = 0
  :: allowed & 2 -> to = 1
#if CORES > 2
  :: allowed & 4 -> to = 2
#endif
  fi
}

inline make_runnable() {
  state = runnable;
  enter()
}

/* Where it is to wait: in the global queue, or in a core's. */
inline enter() {
#ifdef GLOBAL
  if
  :: allowed == ALL -> enter_global()
  :: else -> choose(); send_to(to)
  fi
#else
  choose();
  send_to(to)
#endif
}

inline send_away() {
  touch();
  if
  :: state == runnable && place == queued && !(allowed & (1 << me)) ->
     place = nowhere;
     choose();
     send_to(to)
  :: else
  fi
}

inline take_requests() {
  d_step {
    woken = wake_asked;
    moved = placement_asked;
    wake_asked = false;
    placement_asked = false
#ifdef LETTER_FREED
    ; message_on_its_way = false
#endif
  }
}

inline take_wishes() {
  touch();
  allowed = wished
}

inline look_at() {
  alive();
  if
  :: place == running && queue_of == me     /* when its step is over */
  :: else ->
     touch();
     if
     :: in_look_list == me + 1 -> in_look_list = 0
     :: else -> assert(in_look_list == 0)
     fi;
     take_requests();
#ifndef WISHES_LATE
     if
     :: moved -> take_wishes()
     :: else
     fi;
#endif
     if
     :: woken ->
        assert(state == sleeping);
        make_runnable()
     :: else
     fi;
#ifdef WISHES_LATE
     if
     :: moved -> take_wishes()
     :: else
     fi;
     if
     :: moved -> send_away()
     :: else
     fi
#else
     if
     :: !woken ->
#ifdef GLOBAL
        if
#ifndef GLOBAL_LOST
        :: state == runnable && place == nowhere -> enter()  /* enter_global_again() */
#endif
        :: else -> send_away()
        fi
#else
        send_away()
#endif
     :: else
     fi
#endif
  fi
}

inline finish_step() {
  touch();
  if
  :: wake_asked || placement_asked ->
     take_requests();
     if
     :: moved -> take_wishes()
     :: else
     fi
  :: else
  fi;
  if
  :: !(allowed & (1 << me)) -> place = nowhere; choose(); send_to(to)
#ifdef GLOBAL
  :: allowed == ALL -> place = nowhere; enter_global()   /* its turn is over */
  :: allowed & (1 << me)
#else
  :: else
#endif
  fi
}

/* A wake-up, by who takes the thread off the queue, or a wish; who wishes has found the thread, and so has a reference. */
inline ask() {
  if
  :: atomic { in_wait_queue -> in_wait_queue = false }
     request(true)
  :: atomic { wishes > 0 && state != ended -> wishes--; references++ }
     if
     :: wished = 1
     :: wished = 2
     :: wished = ALL
     fi;
     request(false);
     atomic { references-- }
  fi
}

inline finish_step_of_current() {
  if
  :: place == running && queue_of == me -> finish_step()
  :: else
  fi
}

proctype core(byte me) {
  byte h, to;
  bool told, woken, moved, is_current;
  if
  :: me == 0 ->
     /* The thread can be found and asked already; this core is still in the step that makes it. */
#ifndef CREATED_ELSEWHERE
     touch();
     make_runnable()
#else
     state = runnable;
     choose();
     place = on_the_way;
     home = to;
     mail[to]!ARRIVE
#endif
  :: else
  fi;
end:
  do
  /* read_mail(), then finish_step() if the thread runs here */
  :: mail[me]?THREAD ->
     letter_used = false;
     alive();
#if defined(GLOBAL_UNSETTLED) || defined(WAKERS_UNSETTLED)
     h = me;
#else
     settle();
#endif
#ifndef NO_FORWARD
     if
     :: h != me -> letter_used = true; mail[h]!THREAD
     :: else ->
        message_on_its_way = false;
        look_at();
        drop()
     fi;
#else
     message_on_its_way = false;
     look_at();
     drop();
#endif
#ifndef NO_LOOK_RUNNING
     finish_step_of_current()
#else
     skip
#endif
  :: mail[me]?ARRIVE ->
     touch();
     assert(place == on_the_way);
     d_step { place = queued; queue_of = me };            /* it is in one core's own list or another's */
     if
     :: wake_asked || placement_asked -> look_at()
     :: else ->
#ifndef ARRIVE_ANYWAY
        send_away()
#else
        skip
#endif
     fi
  :: in_look_list == me + 1 -> look_at()
#ifdef GLOBAL
  /* invite_guest() */
  :: atomic { place == global -> place = nowhere; home = me };
     touch();
     d_step { place = queued; queue_of = me };
     if
     :: wake_asked || placement_asked -> look_at()
     :: else
     fi
#endif

  /* schedule(): RunQueue::pick takes none that may not run here */
  :: place == queued && queue_of == me && (allowed & (1 << me)) ->
     touch();
     assert(state == runnable);
     place = running;
     if
     :: waits > 0                                /* a step that goes on, and will block */
     :: finish_step()
     fi
  /* the thread's step blocks; in it, too, something may be asked */
  :: place == running && queue_of == me && waits > 0 ->
     touch();
     waits--;
     in_wait_queue = true;
     if
     :: ask()
     :: true
     fi;
     state = sleeping;
     place = nowhere;
#ifdef WAKERS_UNSEEN
     leave_to_wakers()
#elif !defined(NO_LOOK_BLOCKED)
     if
     :: wake_asked || placement_asked -> look_at()
#ifdef WAKERS
     :: !wake_asked && !placement_asked -> leave_to_wakers()
#endif
     :: !wake_asked && !placement_asked
     fi
#endif
#ifndef STAYS
  /* or it ends */
  :: place == running && queue_of == me && waits == 0 ->
     finish_step();
     if
     :: place == running && queue_of == me ->
        state = ended;
        place = nowhere;
        if
        :: in_look_list == me + 1 -> in_look_list = 0
        :: else
        fi;
        atomic { references-- }
     :: else
     fi
#endif
  /* another thread's step, or an interrupt */
  :: ask(); finish_step_of_current()
  od
}

init {
  atomic {
    byte i;
    for (i : 0 .. CORES - 1) { run core(i) }
  }
#ifdef STAYS
  timeout -> assert(place == running && allowed == wished && (allowed & (1 << queue_of)))
#else
  state == ended;
  timeout -> assert(references == 0 && !message_on_its_way && !letter_used && in_look_list == 0)
#endif
}
