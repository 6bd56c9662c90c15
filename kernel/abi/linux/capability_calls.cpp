// capget, capset, and what prctl(2) says about capabilities. Source: Linux capget(2), capabilities(7), prctl(2).
#include "abi/linux/capability_calls.h"

namespace corral::abi {

namespace {

constexpr u32 version_1 = 0x1998'0330, version_2 = 0x2007'1026, version_3 = 0x2008'0522;

struct Header {
  u32 version;
  i32 id;
};
struct Sets {
  u32 effective, permitted, inheritable;
};

// How many Sets follow the header; an unknown version is answered by the one in use. einval.
Result<u32> count_of_sets(Call& call, Header& header) {
  header = TRY(call.read<Header>(call.address(0)));
  switch (header.version) {
    case version_1: return 1u;
    case version_2:
    case version_3: return 2u;
    default: TRY(call.write(call.address(0), version_3)); return Errno::einval;
  }
}

Result<i64> sys_capget(Call& call) {
  Header header{};
  const Result<u32> count = count_of_sets(call, header);
  if (!count) return count.error() == Errno::einval && call.argument[1] == 0 ? Result<i64>{0} : count.error();
  if (header.id < 0) return Errno::einval;
  Ref<Thread> thread = Ref<Thread>::share(call.thread);
  if (header.id != 0) thread = processes::find_thread({header.id});
  if (!thread) return Errno::esrch;
  if (call.argument[1] == 0) return 0;
  const Ref<Credentials> credentials = thread->credentials_for_others();
  for (u32 i = 0; i < count.value(); ++i) {
    const auto part = [i](CapabilitySet set) { return static_cast<u32>(set.bits() >> (32 * i)); };
    const Sets sets{part(credentials->effective), part(credentials->permitted), part(credentials->inheritable)};
    TRY(call.write(call.address(1) + i * sizeof(Sets), sets));
  }
  return 0;
}

// What only fewer rights follow from is allowed; eperm.
Result<void> check_sets(const Credentials& old, CapabilitySet effective, CapabilitySet permitted, CapabilitySet inheritable) {
  if (!old.may(Capability::setpcap) && !(old.inheritable | old.permitted).contains(inheritable)) return Errno::eperm;
  if (!(old.inheritable | old.bounding).contains(inheritable)) return Errno::eperm;
  if (!old.permitted.contains(permitted) || !permitted.contains(effective)) return Errno::eperm;
  return {};
}

// The thread goes on with a copy that `change` has changed. enomem.
template <class Change>
Result<i64> with_change(Call& call, Change&& change) {
  Ref<Credentials> fresh = TRY(call.thread.credentials().copy());
  change(*fresh);
  call.thread.set_credentials(std::move(fresh));
  return 0;
}

Result<i64> sys_capset(Call& call) {
  Header header{};
  const u32 count = TRY(count_of_sets(call, header));
  if (header.id != 0 && header.id != call.thread.id().value) return Errno::eperm;
  u64 bits[3] = {};
  for (u32 i = 0; i < count; ++i) {
    const Sets sets = TRY(call.read<Sets>(call.address(1) + i * sizeof(Sets)));
    bits[0] |= u64{sets.effective} << (32 * i);
    bits[1] |= u64{sets.permitted} << (32 * i);
    bits[2] |= u64{sets.inheritable} << (32 * i);
  }
  const auto effective = CapabilitySet::of_bits(bits[0]);
  const auto permitted = CapabilitySet::of_bits(bits[1]);
  const auto inheritable = CapabilitySet::of_bits(bits[2]);
  const Credentials& old = call.thread.credentials();
  TRY(check_sets(old, effective, permitted, inheritable));
  return with_change(call, [&](Credentials& c) {
    c.effective = effective;
    c.permitted = permitted;
    c.inheritable = inheritable;
    c.ambient = c.ambient & permitted & inheritable;
  });
}

// ---- prctl -----------------------------------------------------------------------------------------------------------------

Result<i64> drop_bound(Call& call) {
  const u64 number = call.argument[1];
  if (!call.thread.may(Capability::setpcap)) return Errno::eperm;
  if (number >= capability_count) return Errno::einval;
  const CapabilitySet dropped = CapabilitySet::of_number(static_cast<u32>(number));
  return with_change(call, [&](Credentials& c) { c.bounding = c.bounding.without(dropped); });
}

Result<i64> set_secure_bits(Call& call) {
  const u64 wanted = call.argument[1];
  const u32 had = call.thread.credentials().secure_bits;
  const u64 locked = (had & secure_locks_all) >> 1;
  if ((locked & (had ^ wanted)) != 0 || (had & secure_locks_all & ~wanted) != 0) return Errno::eperm;
  if ((wanted & ~u64{secure_bits_all | secure_locks_all}) != 0 || !call.thread.may(Capability::setpcap)) return Errno::eperm;
  return with_change(call, [&](Credentials& c) { c.secure_bits = static_cast<u32>(wanted); });
}

Result<i64> keep_capabilities(Call& call) {
  const u64 wanted = call.argument[1];
  if (wanted > 1) return Errno::einval;
  if ((call.thread.credentials().secure_bits & secure_keep_capabilities << 1) != 0) return Errno::eperm;
  return with_change(call, [&](Credentials& c) {
    c.secure_bits &= ~secure_keep_capabilities;
    if (wanted != 0) c.secure_bits |= secure_keep_capabilities;
  });
}

Result<i64> ambient(Call& call) {
  constexpr u64 is_set = 1, raise = 2, lower = 3, clear_all = 4;
  const u64 what = call.argument[1], number = call.argument[2];
  const Credentials& old = call.thread.credentials();
  const bool rest = (call.argument[3] | call.argument[4]) != 0;
  if (what == clear_all) {
    if (number != 0 || rest) return Errno::einval;
    return with_change(call, [](Credentials& c) { c.ambient = {}; });
  }
  if (number >= capability_count || rest) return Errno::einval;
  const CapabilitySet one = CapabilitySet::of_number(static_cast<u32>(number));
  switch (what) {
    case is_set: return old.ambient.contains(one) ? 1 : 0;
    case raise:
      if (!(old.permitted & old.inheritable).contains(one) || (old.secure_bits & secure_no_ambient_raise) != 0)
        return Errno::eperm;
      return with_change(call, [&](Credentials& c) { c.ambient = c.ambient | one; });
    case lower: return with_change(call, [&](Credentials& c) { c.ambient = c.ambient.without(one); });
    default: return Errno::einval;
  }
}

constexpr Entry entries[] = {{125, "capget", sys_capget}, {126, "capset", sys_capset}};

}  // namespace

std::optional<Result<i64>> capability_option(Call& call) {
  enum Option : i32 {
    get_keep = 7,
    set_keep = 8,
    read_bound = 23,
    drop_bound_option = 24,
    get_secure_bits = 27,
    set_secure_bits_option = 28,
    ambient_option = 47,
  };
  const Credentials& own = call.thread.credentials();
  const u64 value = call.argument[1];
  switch (call.number(0)) {
    case get_keep: return (own.secure_bits & secure_keep_capabilities) != 0 ? 1 : 0;
    case set_keep: return keep_capabilities(call);
    case read_bound:
      if (value >= capability_count) return Result<i64>{Errno::einval};
      return own.bounding.contains(CapabilitySet::of_number(static_cast<u32>(value))) ? 1 : 0;
    case drop_bound_option: return drop_bound(call);
    case get_secure_bits: return i64{own.secure_bits};
    case set_secure_bits_option: return set_secure_bits(call);
    case ambient_option: return ambient(call);
    default: return std::nullopt;
  }
}

std::span<const Entry> capability_calls() {
  return entries;
}

}  // namespace corral::abi
