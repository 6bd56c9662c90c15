// capget, capset: everybody is root, with all that root may. Giving something up is EPERM, since nothing would follow from it.
// Source: Linux capget(2).
#include "abi/linux/call.h"

namespace corral::abi {

namespace {

constexpr u32 version_1 = 0x1998'0330, version_2 = 0x2007'1026, version_3 = 0x2008'0522;
constexpr u64 all = (u64{1} << 41) - 1;  // CAP_CHOWN … CAP_CHECKPOINT_RESTORE

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
  if (header.id != 0 && !processes::find_thread({header.id})) return Errno::esrch;
  if (call.argument[1] == 0) return 0;
  for (u32 i = 0; i < count.value(); ++i) {
    const auto part = static_cast<u32>(all >> (32 * i));
    TRY(call.write(call.address(1) + i * sizeof(Sets), Sets{part, part, 0}));
  }
  return 0;
}

Result<i64> sys_capset(Call& call) {
  Header header{};
  const u32 count = TRY(count_of_sets(call, header));
  if (header.id != 0 && header.id != call.thread.id().value) return Errno::eperm;
  for (u32 i = 0; i < count; ++i) {
    const Sets sets = TRY(call.read<Sets>(call.address(1) + i * sizeof(Sets)));
    const auto part = static_cast<u32>(all >> (32 * i));
    if ((sets.effective & part) != part || (sets.permitted & part) != part || sets.inheritable != 0) return Errno::eperm;
  }
  return 0;
}

constexpr Entry entries[] = {{125, "capget", sys_capget}, {126, "capset", sys_capset}};

}  // namespace

std::span<const Entry> capability_calls() {
  return entries;
}

}  // namespace corral::abi
