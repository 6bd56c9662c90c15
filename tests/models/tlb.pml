/*
 * TLB consistency across cores (kernel/vm: address_space.h, change.cpp, faults.cpp, core_translation.cpp).
 *
 * One page of one address space on three cores. Core 0 runs the thread that changes the mapping: it unmaps the page and
 * gives its frame away, or breaks its sharing (copy-on-write). Cores 1 and 2 each may load the address space, use the page,
 * leave for another one, and handle messages, in every order. A core takes a message only between two steps.
 *
 * Checked:
 *   - no core uses (through its TLB) a frame that was released;
 *   - after unmap returned, no core uses the old translation;
 *   - while the page can be written anywhere, no core that uses the space has another frame in its TLB;
 *   - the change always ends (no invalid end state).
 *
 * Run (a few seconds each; the last four must report an error):
 *   spin -a tlb.pml && cc -O2 -o pan pan.c && ./pan
 *   spin -a -DCOPY tlb.pml && cc -O2 -o pan pan.c && ./pan
 *   spin -a -DKEEP tlb.pml && cc -O2 -o pan pan.c && ./pan         (cores keep entries while they rest or use another
 *                                                                  space, and tell them by the generation)
 *   spin -a -DNO_WAIT tlb.pml && cc -O2 -o pan pan.c && ./pan      (mutation: does not wait for the answers)
 *   spin -a -DKEEP -DNO_GENERATION tlb.pml && cc -O2 -o pan pan.c && ./pan  (mutation: no look at the generation)
 *   spin -a -DLATE_JOIN tlb.pml && cc -O2 -o pan pan.c && ./pan    (mutation: joins the active set after the load)
 *   spin -a -DCOPY -DEARLY_WRITE tlb.pml && cc -O2 -o pan pan.c && ./pan  (mutation: the copy is writable at once)
 * tests/models/run does all of it and says what passed.
 */

#define CORES 3
#define NONE 0   /* translations: nothing, or which frame */
#define OLD 1
#define COPIED 2

/* Memory is sequentially consistent here; the fences of the source see to that where it matters: between the change of
 * the table, the new generation and the look at the active set, and between joining the set, the look at the generation
 * and the first walk of the table. */
byte entry = OLD;        /* the page table's entry */
bool entry_writable = false;
bool in_active[CORES];
byte tlb[CORES];         /* what each core's TLB holds of the page */
bool tlb_writable[CORES];
bool loaded[CORES];
bool released = false;   /* the old frame has been given away */
bool returned = false;   /* the change has returned to its caller */
byte outstanding = 0;
byte generation = 1;     /* of the address space */
byte known[CORES];       /* up to which each core has forgotten */
chan mail[CORES] = [1] of { bit };

inline use(core) {
  /* The processor walks the table when its TLB has nothing, and may do so whenever the table is loaded. */
  atomic {
    if
    :: tlb[core] == NONE && entry != NONE -> tlb[core] = entry; tlb_writable[core] = entry_writable
    :: else
    fi;
    assert(!(tlb[core] == OLD && released));
    assert(!(tlb[core] == OLD && returned));
  }
}

inline forget(core) {
  atomic { tlb[core] = NONE; tlb_writable[core] = false }
}

proctype other(byte core) {
  byte steps = 0;
  known[core] = 0;
end:
  do
  /* activate() */
  :: !loaded[core] && steps < 5 ->
#ifdef LATE_JOIN
     loaded[core] = true;
     use(core);
     in_active[core] = true;
#else
     in_active[core] = true;
#ifndef NO_GENERATION
     byte newest = generation;
     if
     :: known[core] != newest -> forget(core)
     :: else
     fi;
     known[core] = newest;
#endif
     loaded[core] = true;
#endif
     steps++
  /* the thread runs in user mode, or the kernel resolves an address */
  :: loaded[core] && steps < 5 -> use(core); steps++
  /* the core rests, or another address space is loaded */
  :: loaded[core] && steps < 5 ->
     loaded[core] = false;
#ifndef KEEP
     forget(core);             /* the load flushes */
#endif
     in_active[core] = false;
     steps++
  /* a message, between two steps */
  :: mail[core]?_ ->
     forget(core);
     if
     :: known[core] + 1 == generation -> known[core] = generation
     :: else
     fi;
     if
     :: !loaded[core] -> in_active[core] = false
     :: else
     fi;
     atomic { outstanding-- }
  od
}

active proctype changer() {
  byte c;
  byte asked;
  /* this core has used the page already */
  loaded[0] = true; in_active[0] = true;
  use(0);
  run other(1); run other(2);
#ifdef COPY
#ifdef EARLY_WRITE
  atomic { entry = COPIED; entry_writable = true }
#else
  atomic { entry = COPIED; entry_writable = false }  /* reading either is the same */
#endif
#else
  entry = NONE;
#endif
  generation++;
  forget(0);
  for (c : 1 .. CORES - 1) {
    /* each word of the set is read by itself */
    if
    :: in_active[c] -> asked = asked | (1 << c); atomic { outstanding++ }
    :: else
    fi
  }
  for (c : 1 .. CORES - 1) {
    if
    :: (asked & (1 << c)) -> mail[c]!0
    :: else
    fi
  }
#ifndef NO_WAIT
  outstanding == 0;
#endif
#ifdef COPY
#ifndef EARLY_WRITE
  entry_writable = true;
#endif
#endif
  released = true;
  returned = true;
  use(0)
}

#ifdef COPY
/* Whoever can write the copy writes it; then no core that uses the space may still read the old frame. */
active proctype watcher() {
  byte c;
end:
  atomic {
    entry_writable ->
    for (c : 0 .. CORES - 1) {
      assert(!loaded[c] || tlb[c] != OLD)
    }
  }
}
#endif
