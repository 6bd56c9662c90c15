// Users and groups of the calling thread: setuid, setgid, setgroups and their relatives. Source: Linux credentials(7), setuid(2),
// setreuid(2), setresuid(2), setfsuid(2), getgroups(2). Each thread has its own credentials: libraries tell the others (nptl(7)).
#include "abi/linux/call.h"
#include "task/credential_rules.h"

namespace corral::abi {

namespace {

// The same calls are there for users and for groups.
enum class Kind : u8 { user, group };

template <Kind K>
const Ids& ids_of(const Credentials& credentials) {
  return K == Kind::user ? credentials.user : credentials.group;
}

template <Kind K>
constexpr Capability power = K == Kind::user ? Capability::setuid : Capability::setgid;

// The thread goes on with `wanted`. eagain as Linux where a user cannot be counted; enomem.
template <Kind K>
Result<i64> become(Call& call, const Ids& wanted) {
  const Credentials& old = call.thread.credentials();
  if (wanted == ids_of<K>(old)) return 0;
  Ref<Credentials> fresh = TRY(old.copy());
  if constexpr (K == Kind::user) {
    fresh->user = wanted;
    if (!fresh->find_account().ok()) return Errno::eagain;
    credential_rules::users_changed(old, *fresh);
  } else {
    fresh->group = wanted;
  }
  call.thread.set_credentials(std::move(fresh));
  return 0;
}

u32 id_argument(const Call& call, unsigned index) {
  return static_cast<u32>(call.argument[index]);
}

// ---- telling ---------------------------------------------------------------------------------------------------------------

template <Kind K>
Result<i64> sys_get_real(Call& call) {
  return ids_of<K>(call.thread.credentials()).real;
}

template <Kind K>
Result<i64> sys_get_effective(Call& call) {
  return ids_of<K>(call.thread.credentials()).effective;
}

template <Kind K>
Result<i64> sys_get_all(Call& call) {
  const Ids& ids = ids_of<K>(call.thread.credentials());
  TRY(call.write(call.address(0), ids.real));
  TRY(call.write(call.address(1), ids.effective));
  TRY(call.write(call.address(2), ids.saved));
  return 0;
}

// ---- changing --------------------------------------------------------------------------------------------------------------

template <Kind K>
Result<i64> sys_set(Call& call) {
  const u32 id = id_argument(call, 0);
  const Credentials& old = call.thread.credentials();
  Ids ids = ids_of<K>(old);
  if (id == no_id) return Errno::einval;
  if (old.may(power<K>)) {
    ids.real = ids.saved = id;
  } else if (id != ids.real && id != ids.saved) {
    return Errno::eperm;
  }
  ids.effective = ids.files = id;
  return become<K>(call, ids);
}

template <Kind K>
Result<i64> sys_set_pair(Call& call) {
  const u32 real = id_argument(call, 0), effective = id_argument(call, 1);
  const Credentials& old = call.thread.credentials();
  const Ids& had = ids_of<K>(old);
  Ids ids = had;
  const bool powerful = old.may(power<K>);
  if (real != no_id) {
    if (real != had.real && real != had.effective && !powerful) return Errno::eperm;
    ids.real = real;
  }
  if (effective != no_id) {
    if (!had.any_is(effective) && !powerful) return Errno::eperm;
    ids.effective = effective;
  }
  if (real != no_id || (effective != no_id && effective != had.real)) ids.saved = ids.effective;
  ids.files = ids.effective;
  return become<K>(call, ids);
}

template <Kind K>
Result<i64> sys_set_all(Call& call) {
  const Credentials& old = call.thread.credentials();
  const Ids& had = ids_of<K>(old);
  const bool powerful = old.may(power<K>);
  u32 wanted[3] = {had.real, had.effective, had.saved};
  for (unsigned i = 0; i < 3; ++i) {
    const u32 id = id_argument(call, i);
    if (id == no_id) continue;
    if (!powerful && !had.any_is(id)) return Errno::eperm;
    wanted[i] = id;
  }
  return become<K>(call, {wanted[0], wanted[1], wanted[2], wanted[1]});
}

// Always answers what it was before: whether it changed anything is not told.
template <Kind K>
Result<i64> sys_set_files(Call& call) {
  const u32 id = id_argument(call, 0);
  const Credentials& old = call.thread.credentials();
  const Ids& had = ids_of<K>(old);
  const u32 before = had.files;
  if (id == no_id || id == before || !(had.any_is(id) || old.may(power<K>))) return before;
  Result<Ref<Credentials>> copy = old.copy();
  if (!copy.ok()) return before;
  Ref<Credentials> fresh = copy.take();
  if constexpr (K == Kind::user) {
    fresh->user.files = id;
    credential_rules::file_user_changed(old, *fresh);
  } else {
    fresh->group.files = id;
  }
  call.thread.set_credentials(std::move(fresh));
  return before;
}

// ---- supplementary groups --------------------------------------------------------------------------------------------------

Result<i64> sys_getgroups(Call& call) {
  const Ref<GroupList>& list = call.thread.credentials().groups;
  const std::span<u32> groups = list ? list->groups() : std::span<u32>{};
  if (call.number(0) < 0) return Errno::einval;
  if (call.number(0) == 0) return static_cast<i64>(groups.size());
  if (groups.size() > static_cast<u64>(call.number(0))) return Errno::einval;
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(1), groups.data(), groups.size_bytes()));
  return static_cast<i64>(groups.size());
}

Result<i64> sys_setgroups(Call& call) {
  const auto count = static_cast<u32>(call.argument[0]);
  if (!call.thread.may(Capability::setgid)) return Errno::eperm;
  if (count > most_groups) return Errno::einval;
  Ref<GroupList> list;
  if (count != 0) {
    list = TRY(GroupList::create(count));
    const std::span<u32> groups = list->groups();
    TRY(vm::copy_in(call.space, call.thread.caller, groups.data(), call.address(1), groups.size_bytes()));
    for (const u32 group : groups) {
      if (group == no_id) return Errno::einval;
    }
    list->sort();
  }
  Ref<Credentials> fresh = TRY(call.thread.credentials().copy());
  fresh->groups = std::move(list);
  call.thread.set_credentials(std::move(fresh));
  return 0;
}

constexpr Entry entries[] = {
    {102, "getuid", sys_get_real<Kind::user>},
    {104, "getgid", sys_get_real<Kind::group>},
    {105, "setuid", sys_set<Kind::user>},
    {106, "setgid", sys_set<Kind::group>},
    {107, "geteuid", sys_get_effective<Kind::user>},
    {108, "getegid", sys_get_effective<Kind::group>},
    {113, "setreuid", sys_set_pair<Kind::user>},
    {114, "setregid", sys_set_pair<Kind::group>},
    {115, "getgroups", sys_getgroups},
    {116, "setgroups", sys_setgroups},
    {117, "setresuid", sys_set_all<Kind::user>},
    {118, "getresuid", sys_get_all<Kind::user>},
    {119, "setresgid", sys_set_all<Kind::group>},
    {120, "getresgid", sys_get_all<Kind::group>},
    {122, "setfsuid", sys_set_files<Kind::user>},
    {123, "setfsgid", sys_set_files<Kind::group>},
};

}  // namespace

std::span<const Entry> user_calls() {
  return entries;
}

}  // namespace corral::abi
