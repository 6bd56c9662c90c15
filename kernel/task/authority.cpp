// See authority.h. What the target is is taken at one moment: it may change right afterwards, as on Linux.
#include "task/authority.h"

namespace corral::authority {

namespace {

Result<void> allowed(bool yes) {
  return yes ? Result<void>{} : Result<void>{Errno::eperm};
}

}  // namespace

Result<void> may_signal(const Thread& thread, Process& target, int signal) {
  Process& own = thread.process();
  const Credentials& mine = thread.credentials();
  if (&target == &own || mine.may(Capability::kill)) return {};
  const Ref<Credentials> other = target.credentials();
  for (const u32 id : {mine.user.effective, mine.user.real}) {
    if (id == other->user.saved || id == other->user.real) return {};
  }
  return allowed(signal == sigcont && target.session.load(Order::relaxed) == own.session.load(Order::relaxed));
}

Result<void> may_limit(const Thread& thread, Process& target) {
  const Credentials& mine = thread.credentials();
  if (&target == &thread.process() || mine.may(Capability::sys_resource)) return {};
  const Ref<Credentials> other = target.credentials();
  const u32 user = mine.user.real, group = mine.group.real;
  return allowed(other->user.real == user && other->user.effective == user && other->user.saved == user &&
                 other->group.real == group && other->group.effective == group && other->group.saved == group);
}

bool owns(const Thread& thread, const Thread& target, Capability power) {
  const Credentials& mine = thread.credentials();
  if (&thread == &target || mine.may(power)) return true;
  const Ref<Credentials> other = target.credentials_for_others();
  return mine.user.effective == other->user.effective || mine.user.effective == other->user.real;
}

namespace {

bool nice_allowed(const Thread& thread, const Thread& target, i32 nice) {
  constexpr i32 nice_0_as_limit = 20;
  return nice >= target.nice() || thread.may(Capability::sys_nice) ||
         static_cast<u64>(nice_0_as_limit - nice) <= target.process().limits.nice;
}

}  // namespace

Result<void> may_change_nice(const Thread& thread, const Thread& target, i32 nice) {
  if (!owns(thread, target, Capability::sys_nice)) return Errno::eperm;
  return nice_allowed(thread, target, nice) ? Result<void>{} : Result<void>{Errno::eacces};
}

Result<void> may_schedule(const Thread& thread, const Thread& target, const Schedule& wanted) {
  if (thread.may(Capability::sys_nice)) return {};
  const Thread::Policy has = target.policy_and_priority();
  const u32 policy = has.policy & ~Thread::reset_on_fork;
  const u64 limit = target.process().limits.real_time_priority;
  if (wanted.priority != 0) {
    if (wanted.policy != policy && limit == 0) return Errno::eperm;
    if (wanted.priority > has.priority && wanted.priority > limit) return Errno::eperm;
  } else if (!nice_allowed(thread, target, wanted.nice)) {
    return Errno::eperm;
  }
  constexpr auto idle = static_cast<u32>(sched::SchedulingPolicy::idle);
  const bool could_be_better = static_cast<u64>(20 - target.nice()) <= target.process().limits.nice;
  if (policy == idle && wanted.policy != idle && !could_be_better) return Errno::eperm;
  if (!owns(thread, target, Capability::sys_nice)) return Errno::eperm;
  return allowed((has.policy & Thread::reset_on_fork) == 0 || wanted.reset_on_fork);
}

Result<void> may_look_into(const Thread& thread, Process& target, As as) {
  const Credentials& mine = thread.credentials();
  if (&target == &thread.process() || mine.may(Capability::sys_ptrace)) return {};
  const Ref<Credentials> other = target.credentials();
  const u32 user = as == As::files ? mine.user.files : mine.user.real;
  const u32 group = as == As::files ? mine.group.files : mine.group.real;
  const bool same = other->user.real == user && other->user.effective == user && other->user.saved == user &&
                    other->group.real == group && other->group.effective == group && other->group.saved == group;
  const CapabilitySet own = as == As::files ? mine.effective : mine.permitted;
  return allowed(same && target.manners.dumpable.load(Order::relaxed) && own.contains(other->permitted));
}

}  // namespace corral::authority
