// uname, sethostname, setdomainname. Source: Linux uname(2), gethostname(2), getdomainname(2).
#include "abi/linux/call.h"
#include "lib/memory_functions.h"
#include "task/system_names.h"

namespace corral::abi {

namespace {

using system_names::Name;

using Field = char[system_names::longest + 1];

struct UtsName {  // struct new_utsname
  Field system, node, release, version, machine, domain;
};

void put(Field& field, std::string_view text) {
  const size_t length = text.size() < system_names::longest ? text.size() : system_names::longest;
  memcpy(field, text.data(), length);
}

Result<i64> sys_uname(Call& call) {
  UtsName name{};
  put(name.system, "Linux");
  memcpy(name.node, system_names::get(Name::host).bytes, sizeof name.node);
  put(name.release, system_names::release);
  put(name.version, system_names::build);
  constexpr u32 personality_mask = 0xff, linux32 = 8;  // personality(2): such a process is told of the 32-bit machine
  const u32 personality = call.process.manners.personality.load(Order::relaxed) & personality_mask;
  put(name.machine, personality == linux32 ? "i686" : "x86_64");
  memcpy(name.domain, system_names::get(Name::domain).bytes, sizeof name.domain);
  TRY(call.write(call.address(0), name));
  return 0;
}

template <Name N>
Result<i64> sys_set(Call& call) {
  if (!call.thread.may(Capability::sys_admin)) return Errno::eperm;
  const i32 length = call.number(1);
  if (length < 0 || static_cast<u64>(length) > system_names::longest) return Errno::einval;
  system_names::Text text;
  TRY(vm::copy_in(call.space, call.thread.caller, text.bytes, call.address(0), static_cast<u64>(length)));
  system_names::set(N, text);
  return 0;
}

constexpr Entry entries[] = {
    {63, "uname", sys_uname}, {170, "sethostname", sys_set<Name::host>}, {171, "setdomainname", sys_set<Name::domain>}};

}  // namespace

std::span<const Entry> uname_calls() {
  return entries;
}

}  // namespace corral::abi
