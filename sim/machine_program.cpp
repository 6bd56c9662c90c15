// What threads do between two pieces of work. See machine.h.
#include <stdexcept>

#include "machine.h"

namespace corral::sim {

namespace {

constexpr u32 most_without_time = 1'000'000;  // actions in a row

}  // namespace

const Action* Machine::next_action(Thread& thread) {
  const Task& task = *thread.task;
  for (u32 turns = 0; turns < most_without_time; ++turns) {
    if (thread.phase == task.phases.size()) {
      thread.phase = 0;
      ++thread.task_loops;
    }
    if (task.loops >= 0 && thread.task_loops >= task.loops) return nullptr;
    const Phase& phase = task.phases[thread.phase];
    const bool again = phase.loops < 0 || thread.phase_loops < phase.loops;
    if (again && thread.action < phase.actions.size()) return &phase.actions[thread.action++];
    thread.action = 0;
    ++thread.phase_loops;
    if (!phase.actions.empty() && (phase.loops < 0 || thread.phase_loops < phase.loops)) continue;
    thread.phase_loops = 0;
    ++thread.phase;
  }
  throw std::runtime_error{"tasks." + task.name + ": it repeats phases in which nothing is done"};
}

Machine::Next Machine::advance(Thread& thread, CoreId here) {
  for (u32 actions = 0; actions < most_without_time; ++actions) {
    const Action* action = next_action(thread);
    if (action == nullptr) return Next::ends;
    switch (action->kind) {
      case Action::Kind::compute:
      case Action::Kind::run_for:
        if (action->time.ns == 0) break;
        thread.work = action->time;
        thread.by_time = action->kind == Action::Kind::run_for;
        return Next::computes;
      case Action::Kind::sleep:
        if (action->time.ns == 0) break;
        events_.add(now_ + action->time, Event::Kind::wake, thread.number);
        return Next::sleeps;
      case Action::Kind::period:
        thread.period_begin = thread.period_begin + action->time;
        if (thread.period_begin <= now_) {  // too late: the next one begins now, as with rt-app's relative timers
          thread.period_begin = now_;
          break;
        }
        events_.add(thread.period_begin, Event::Kind::wake, thread.number);
        return Next::sleeps;
      case Action::Kind::yield: return Next::yields;
      case Action::Kind::lock:
        if (take_lock(thread, action->object)) break;
        thread.state = State::waiting;
        return Next::waits;
      case Action::Kind::unlock: release_lock(thread, action->object, here); break;
      case Action::Kind::barrier:
        if (pass_barrier(thread, action->object, here)) break;
        thread.state = State::waiting;
        return Next::waits;
      case Action::Kind::suspend: thread.state = State::suspended; return Next::waits;
      case Action::Kind::resume: resume(action->object, here); break;
      case Action::Kind::down:
        if (pass_semaphore(thread, action->object)) break;
        thread.state = State::waiting;
        return Next::waits;
      case Action::Kind::up: raise_semaphore(action->object, here); break;
      case Action::Kind::fork: wake(make_thread(action->object), here); break;
    }
  }
  throw std::runtime_error{"tasks." + thread.task->name + ": it goes on without computing or sleeping"};
}

bool Machine::take_lock(Thread& thread, u32 number) {
  Lock& lock = locks_[number];
  if (lock.owner == &thread) {
    throw std::runtime_error{"tasks." + thread.task->name + ": it locks " + workload_.locks[number] + ", which it holds"};
  }
  if (lock.owner == nullptr) {
    lock.owner = &thread;
    return true;
  }
  lock.waiting.push_back(&thread);
  return false;
}

// The longest waiting one has it then.
void Machine::release_lock(Thread& thread, u32 number, CoreId here) {
  Lock& lock = locks_[number];
  if (lock.owner != &thread) {
    throw std::runtime_error{"tasks." + thread.task->name + ": it unlocks " + workload_.locks[number] +
                             ", which it does not hold"};
  }
  lock.owner = nullptr;
  if (lock.waiting.empty()) return;
  lock.owner = lock.waiting.front();
  lock.waiting.pop_front();
  wake(*lock.owner, here);
}

// The last one wakes the others and goes on.
bool Machine::pass_barrier(Thread& thread, u32 number, CoreId here) {
  Meeting& meeting = meetings_[number];
  if (meeting.there.size() + 1 < workload_.barriers[number].threads) {
    meeting.there.push_back(&thread);
    return false;
  }
  std::vector<Thread*> woken;
  woken.swap(meeting.there);
  for (Thread* other : woken) wake(*other, here);
  return true;
}

void Machine::resume(u32 task, CoreId here) {
  for (Thread* thread : threads_of_task_[task]) {
    if (thread->state == State::suspended) wake(*thread, here);
  }
}

bool Machine::pass_semaphore(Thread& thread, u32 number) {
  Semaphore& semaphore = semaphores_[number];
  if (semaphore.left != 0) {
    --semaphore.left;
    return true;
  }
  semaphore.waiting.push_back(&thread);
  return false;
}

void Machine::raise_semaphore(u32 number, CoreId here) {
  Semaphore& semaphore = semaphores_[number];
  if (semaphore.waiting.empty()) {
    ++semaphore.left;
    return;
  }
  Thread& first = *semaphore.waiting.front();
  semaphore.waiting.pop_front();
  wake(first, here);
}

}  // namespace corral::sim
