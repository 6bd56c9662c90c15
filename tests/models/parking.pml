/*
 * A core that goes to sleep while others post to it (kernel/core/core.cpp, kernel/core/doorbell.h, kernel/core/mailbox.h).
 *
 * Core 0 runs a thread for a few steps and then idles with its tick stopped; SENDERS cores post one message each; one timer
 * event is due at some moment. Interrupts are off in the kernel, but for user mode and the instruction that halts.
 *
 *   model                   source
 *   sender                  Mailbox::post (allocate, commit), Core::post, Doorbell::ring
 *   interrupts()            Core::note_message_interrupt, Core::on_timer_interrupt
 *   look()                  Executive::read_mail, Core::drain_mailbox, Mailbox::take
 *   core, sleep             Executive::schedule, Core::sleep, arch::halt
 *   core, user              arch::enter_user, and the way back through user_trap or system_call
 *
 * Checked: every message is taken and the timer event is run, although the core may sleep, or stay in user mode, for as long as
 * nothing interrupts it (no invalid end state); no message is taken twice or before it was committed.
 *
 * The orders of memory are Relacy's: tests/host/relacy/doorbell.cpp. Not modelled: a full mailbox, which the sender's
 * outbox tries again (tests/host/core/outbox.cpp).
 *
 * Two things are not needed for what is checked, and only save interrupts and writes to the timer: the look before halting, and
 * the answer in drain_mailbox().
 *
 * Mutations, each of which must be found out (tests/models/run):
 *   NOT_NOTED        an interrupt that comes too late for its message does not answer the doorbell
 *   RING_FIRST       the sender rings before the message is committed
 *   OPEN_TOO_SOON    interrupts are let in before the instruction that halts
 *   TIMER_STOPPED    with the tick, the timer is stopped for the events, too
 */
#ifndef SENDERS
#define SENDERS 2
#endif

byte slot_of[SENDERS];          /* position + 1 in the ring; 0: none yet */
bool committed[SENDERS + 1];    /* by position */
byte allocated, taken;
bool rung;
bool message_interrupt, timer_interrupt;  /* kept by the interrupt controller */
bool timer_armed = true;        /* for the event */
bool event_due, event_run;
bool asleep, in_user;           /* interrupts are let in */
byte steps = 2;

proctype sender(byte me) {
  bool first;
  byte position;
#ifdef RING_FIRST
  atomic { first = !rung; rung = true };
  if
  :: first -> message_interrupt = true
  :: else
  fi;
#endif
  atomic { position = allocated; allocated++ };
  committed[position] = true;
#ifndef RING_FIRST
  atomic { first = !rung; rung = true };
  if
  :: first -> message_interrupt = true
  :: else
  fi
#endif
}

/* What is due at its time: the hardware says so if it is armed. */
active proctype clock() {
  event_due = true;
  if
  :: timer_armed -> timer_interrupt = true
  :: else
  fi
}

inline interrupts() {
  if
  :: message_interrupt ->
     message_interrupt = false;
#ifndef NOT_NOTED
     rung = false
#endif
  :: timer_interrupt ->
     timer_interrupt = false;
     assert(event_due);
     event_run = true
  fi
}

inline look() {
  do
  :: committed[taken] ->
     rung = false;
     do
     :: committed[taken] -> assert(taken < SENDERS); taken++
     :: !committed[taken] -> break
     od
  :: !committed[taken] -> break
  od
}

active proctype core() {
end:
  do
  :: look();
     if
     /* a thread runs in user mode, until something interrupts it, or it calls the kernel */
     :: steps > 0 ->
        steps--;
        if
        :: message_interrupt || timer_interrupt -> interrupts()
        :: true
        fi
     /* one that never calls the kernel: no tick, because it is alone */
     :: steps == 0 ->
end_user: message_interrupt || timer_interrupt;
        interrupts()
     /* nothing to run */
     :: true ->
#ifdef TIMER_STOPPED
        timer_armed = false;
#endif
#ifdef OPEN_TOO_SOON
        if
        :: message_interrupt || timer_interrupt -> interrupts()
        :: true
        fi;
#endif
        if
        :: committed[taken] -> goto again
        :: else
        fi;
#ifdef OPEN_TOO_SOON
        if
        :: message_interrupt || timer_interrupt -> interrupts()
        :: true
        fi;
#endif
end_halted: message_interrupt || timer_interrupt;
        interrupts()
     fi;
again: skip
  od
}

init {
  atomic {
    byte i;
    for (i : 0 .. SENDERS - 1) { run sender(i) }
  }
  taken == SENDERS && event_run
}
