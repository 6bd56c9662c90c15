// Policies of memory nodes: mbind, set_mempolicy, get_mempolicy. The machine has one node, number 0, so every policy leads
// to the same memory; they are checked, kept, inherited and told. Source: Linux mbind(2), set_mempolicy(2), get_mempolicy(2).
#include "abi/linux/call.h"

namespace corral::abi {

namespace {

enum Mode : u32 { usual = 0, preferred = 1, bind = 2, interleave = 3, local = 4, preferred_many = 5, modes };
enum ModeFlag : u32 { balancing = 1 << 13, relative_nodes = 1 << 14, static_nodes = 1 << 15 };
constexpr u32 mode_flags = balancing | relative_nodes | static_nodes;

constexpr u64 most_nodes = page_size * 8;  // that a program may name
constexpr u64 known_nodes = 1024;          // Linux's CONFIG_NODES_SHIFT of 10: a bit beyond must not be set

enum MoveFlag : u64 { strict = 1, move = 2, move_all = 4 };

// A set of nodes that a program gives: whether number 0, the only one that there is, is in it, and whether any is.
struct Nodes {
  bool any = false, first = false;
};

Result<Nodes> read_nodes(Call& call, VirtualAddress from, u64 bits) {
  --bits;  // Linux counts from one
  Nodes nodes;
  if (bits == 0 || from.value == 0) return nodes;
  if (bits > most_nodes) return Errno::einval;
  for (u64 at = 0; at < bits; at += 64) {
    u64 word = TRY(call.read<u64>(from + at / 8));
    if (bits - at < 64) word &= (u64{1} << (bits - at)) - 1;
    if (at >= known_nodes && word != 0) return Errno::einval;
    nodes.any = nodes.any || word != 0;
    if (at == 0) nodes.first = (word & 1) != 0;
  }
  return nodes;
}

Result<u16> check_mode(u32 mode, const Nodes& nodes) {
  const u32 flags = mode & mode_flags;
  mode &= ~mode_flags;
  const bool node_numbers = (flags & (relative_nodes | static_nodes)) != 0;
  if (mode == usual) return nodes.any ? Result<u16>{Errno::einval} : Result<u16>{u16{0}};
  const bool near = mode == local || (mode == preferred && !nodes.any);
  if (near) {
    if (nodes.any || node_numbers) return Errno::einval;
    return static_cast<u16>(local | flags);
  }
  // Relative numbers are folded onto the nodes that there are; others are not there.
  const bool some_node = (flags & relative_nodes) != 0 ? nodes.any : nodes.first;
  if (!some_node) return Errno::einval;
  return static_cast<u16>(mode | flags);
}

// Before the nodes are looked at.
Result<void> check_flags(u32 mode) {
  const u32 flags = mode & mode_flags;
  if ((mode & ~mode_flags) >= modes || (flags & (static_nodes | relative_nodes)) == (static_nodes | relative_nodes))
    return Errno::einval;
  if ((flags & balancing) != 0 && (mode & ~mode_flags) != bind) return Errno::einval;
  return {};
}

Result<i64> sys_set_mempolicy(Call& call) {
  const auto mode = static_cast<u32>(call.argument[0]);
  TRY(check_flags(mode));
  call.thread.node_policy = TRY(check_mode(mode, TRY(read_nodes(call, call.address(1), call.argument[2]))));
  return 0;
}

Result<i64> sys_mbind(Call& call) {
  const auto mode = static_cast<u32>(call.argument[2]);
  TRY(check_flags(mode));
  const Nodes nodes = TRY(read_nodes(call, call.address(3), call.argument[4]));
  const auto flags = static_cast<u32>(call.argument[5]);
  if ((flags & ~u32{strict | move | move_all}) != 0) return Errno::einval;
  const VirtualAddress start = call.address(0);
  if (start.value % page_size != 0) return Errno::einval;
  const u64 length = round_up(call.argument[1], page_size);
  if (start.value + length < start.value) return Errno::einval;
  if (length == 0) return 0;
  const u16 policy = TRY(check_mode(mode, nodes));
  TRY(call.space.keep_node_policy(call.thread.caller, start, length, policy));
  return 0;
}

enum Question : u64 { node_of = 1, of_address = 2, allowed = 4 };

Result<i64> sys_get_mempolicy(Call& call) {
  const VirtualAddress mode_to = call.address(0);
  const VirtualAddress nodes_to = call.address(1);
  const u64 bits = call.argument[2];
  const VirtualAddress address = call.address(3);
  const u64 question = call.argument[4];
  if (nodes_to.value != 0 && bits < 1) return Errno::einval;
  if ((question & ~u64{node_of | of_address | allowed}) != 0) return Errno::einval;
  u16 policy = 0;
  u32 answer = 0;
  bool first = false;
  if ((question & allowed) != 0) {
    if ((question & (node_of | of_address)) != 0) return Errno::einval;
    first = true;
  } else {
    if ((question & of_address) == 0 && address.value != 0) return Errno::einval;
    policy = (question & of_address) != 0 ? TRY(call.space.node_policy(address)) : call.thread.node_policy;
    const u32 mode = policy & ~mode_flags;
    if ((question & node_of) != 0) {
      if ((question & of_address) != 0) {
        (void)TRY(call.space.resolve(call.thread.caller, address, vm::Access::read));  // it is brought into memory: node 0
      } else if (mode != interleave) {
        return Errno::einval;
      }
    } else {
      answer = policy;
    }
    first = mode != usual && mode != local;
  }
  if (mode_to.value != 0) TRY(call.write(mode_to, answer));
  if (nodes_to.value != 0) {
    const u64 bytes = round_up(bits - 1, 64) / 8;
    if (bytes > page_size) return Errno::einval;
    for (u64 at = 0; at < bytes; at += 8) TRY(call.write(nodes_to + at, u64{at == 0 && first ? 1u : 0u}));
  }
  return 0;
}

constexpr Entry entries[] = {
    {237, "mbind", sys_mbind},
    {238, "set_mempolicy", sys_set_mempolicy},
    {239, "get_mempolicy", sys_get_mempolicy},
};

}  // namespace

std::span<const Entry> node_calls() {
  return entries;
}

}  // namespace corral::abi
