// The inside of priority-inheriting futexes: what is executed in the one guarded section. See pi_futex.h.
// Functions named execute_… run in it, on any core, and do not wait.
#pragma once

#include "task/thread.h"

namespace corral::futex::pi {

void execute_lock(SectionRequest& request);
void execute_unlock(SectionRequest& request);
void execute_wait_requeue(SectionRequest& request);
void execute_requeue(SectionRequest& request);
void execute_reconsider(SectionRequest& request);  // the priority of `other` has changed
void execute_written(SectionRequest& request);     // the new owner of an ended one's lock has written the word
void execute_close(SectionRequest& request);       // the thread ends
void execute_cancel(SectionRequest& request);

// Submits the thread's request. True: the outcome is there; else the step must answer blocked.
bool submit(Thread& thread, void (*execute)(SectionRequest&));
// The same for its cancel_request.
void submit_cancel(Thread& thread, WakeReason reason);

}  // namespace corral::futex::pi
