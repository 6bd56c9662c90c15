/*
 * The child of a fork is a picture of one moment (kernel/vm/fork.cpp, faults.cpp, change.cpp).
 *
 * Two private pages that can be written. Core 0 runs the thread that forks; core 1 runs another thread of the parent, which
 * writes the first page and then the second one, through whatever its TLB has. (Who may use which translation otherwise:
 * tlb.pml; here breaking the sharing of a page is one step, since core 0 does not use the pages.)
 *
 *   model              source
 *   forker             AddressSpace::fork, copy_into, copy_area, drop_everywhere, begin_generation, end_copying
 *   writer, TLB        the processor
 *   writer, fault      AddressSpace::handle_fault, try_to_settle (copying_), break_sharing, wait_for_change
 *   writer, mail       TranslationDrop::on_message, CoreTranslation::forget
 *
 * Checked:
 *   - what the child has does not change any more once the fork has returned;
 *   - the child has not the second write without the first one;
 *   - the fork and the writes end (no invalid end state).
 *
 * Mutations, each of which must be found out (tests/models/run):
 *   NO_COPYING     faults do not wait while a fork is under way
 *   NO_WAIT        the fork does not wait for the other cores' answers
 *   DROP_FIRST     the cores drop their translations before the pages are protected
 *   STALE_RIGHTS   a page with a stale entry counts as shared with nobody: it becomes writable again
 */
#define PAGES 2

byte original[PAGES], copy[PAGES];     /* contents of the frames */
bool uses_copy[PAGES];                 /* the parent's table */
bool writable[PAGES] = true;
bool shared_frame[PAGES];              /* the original has two references */
bool copying;
bool lock;
bool cached[PAGES], cached_copy[PAGES], cached_writable[PAGES];  /* core 1's TLB */
bool answered, forked, written;
byte child[PAGES];                     /* what the child has when the fork returns */
chan mail = [1] of { bit };

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

inline ask() {
  mail!0;
#ifndef NO_WAIT
  answered
#else
  skip
#endif
}

active proctype forker() {
  byte page;
#ifdef DROP_FIRST
  ask();
#endif
  acquire();
  copying = true;
  for (page : 0 .. PAGES - 1) {
    atomic { shared_frame[page] = true; writable[page] = false }
  }
  release();
#ifndef DROP_FIRST
  ask();
#endif
  acquire();
  copying = false;
  release();
  d_step {
    forked = true;
    child[0] = original[0];
    child[1] = original[1]
  };
  assert(child[0] == 1 || child[1] == 0)
}

inline look_at_mail() {
  d_step {
    cached[0] = false; cached[1] = false
  };
  answered = true
}

inline settle_fault(page) {
  acquire();
  if
#ifndef NO_COPYING
  :: copying -> release(); blocked = true               /* WaitQueue settled_ */
#endif
#ifdef NO_COPYING
  :: true ->
#else
  :: !copying ->
#endif
     d_step {
       if
       :: writable[page]
#ifdef STALE_RIGHTS
       :: !writable[page] && !uses_copy[page] && cached[page] -> writable[page] = true
       :: !writable[page] && shared_frame[page] && !uses_copy[page] && !cached[page] ->
#else
       :: !writable[page] && shared_frame[page] && !uses_copy[page] ->
#endif
          copy[page] = original[page];
          uses_copy[page] = true;
          shared_frame[page] = false;
          writable[page] = true
       fi;
       cached[page] = false                             /* CoreTranslation::refresh */
     };
     release();
     blocked = false
  fi
}

active proctype writer() {
  byte page;
  bool blocked;
  for (page : 0 .. PAGES - 1) {
    do
    :: mail?_ -> look_at_mail()
    /* the processor writes if it may, by the TLB alone */
    :: cached[page] && cached_writable[page] ->
       if
       :: cached_copy[page] -> copy[page] = 1
       :: else -> original[page] = 1
       fi;
       assert(!forked || (original[0] == child[0] && original[1] == child[1]));
       break
    /* or looks into the table; it may do so at any time, also for a page that it does not use yet */
    :: !cached[page] -> d_step { cached[page] = true; cached_copy[page] = uses_copy[page]; cached_writable[page] = writable[page] }
    :: page == 0 && !cached[1] -> d_step { cached[1] = true; cached_copy[1] = uses_copy[1]; cached_writable[1] = writable[1] }
    /* or faults; no mail is read in the step */
    :: cached[page] && !cached_writable[page] ->
       settle_fault(page);
       do
       :: blocked && mail?[_] -> mail?_; look_at_mail()
       :: blocked && !copying -> blocked = false
       :: !blocked -> break
       od
    od
  }
  written = true;
end:
  do
  :: mail?_ -> look_at_mail()
  od
}

init { forked && written }
