// See control_messages.h.
#include "abi/linux/control_messages.h"

#include "fs/inode.h"
#include "memory/heap.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

constexpr i32 level_socket = 1;
constexpr i32 type_rights = 1, type_credentials = 2;
constexpr u64 alignment = 8;
constexpr u64 most_control = 16 << 10;

struct ControlHeader {  // struct cmsghdr
  u64 size;  // with this header
  i32 level, type;
};
static_assert(sizeof(ControlHeader) == 16);

struct Credentials {  // struct ucred
  i32 process;
  u32 user, group;
};

Result<void> take_rights(Call& call, VirtualAddress from, u64 size, fs::Sending& sending) {
  const u64 count = size / sizeof(i32);
  if (count == 0) return {};
  if (sending.rights == nullptr) sending.rights = TRY(fs::Rights::make());
  fs::Rights& rights = *sending.rights;
  if (count > fs::Rights::most - rights.count) return Errno::einval;
  for (u64 i = 0; i < count; ++i) {
    const i32 descriptor = TRY(call.read<i32>(from + i * sizeof(i32)));
    Ref<fs::OpenFile> file = TRY(resources_of(call).files().get(descriptor));
    rights.files[rights.count++] = file.release();
  }
  return {};
}

Result<void> take_credentials(Call& call, VirtualAddress from, u64 size, fs::Sending& sending) {
  if (size != sizeof(Credentials)) return Errno::einval;
  const auto given = TRY(call.read<Credentials>(from));
  if (given.process != call.process.id().value && !processes::find({given.process})) return Errno::esrch;
  if (given.user == no_id || given.group == no_id) return Errno::einval;
  const corral::Credentials& own = call.thread.credentials();
  const bool known_process = given.process == call.process.id().value || own.may(Capability::sys_admin);
  const bool known_user = own.user.any_is(given.user) || own.may(Capability::setuid);
  const bool known_group = own.group.any_is(given.group) || own.may(Capability::setgid);
  if (!known_process || !known_user || !known_group) return Errno::eperm;
  sending.identity = {given.process, given.user, given.group};
  sending.identified = true;
  return {};
}

// Writes one control message, cut to what room there is. Answers the bytes of its contents that fit.
u64 put(Call& call, MessageHeader& header, i32 type, const void* contents, u64 size) {
  if (header.control == 0 || header.control_size < sizeof(ControlHeader)) {
    header.flags |= message_control_truncated;
    return 0;
  }
  const u64 room = header.control_size - sizeof(ControlHeader);
  const u64 fitting = fs::smaller(size, room);
  if (fitting < size) header.flags |= message_control_truncated;
  const ControlHeader own{sizeof(ControlHeader) + fitting, level_socket, type};
  if (!call.write({header.control}, own).ok()) return 0;
  if (!vm::copy_out(call.space, call.thread.caller, {header.control + sizeof own}, contents, fitting).ok()) return 0;
  const u64 used = fs::smaller(round_up(sizeof own + fitting, alignment), header.control_size);
  header.control += used;
  header.control_size -= used;
  return fitting;
}

void give_rights(Call& call, MessageHeader& header, fs::Rights& rights, bool close_on_exec) {
  const u64 room = header.control == 0 || header.control_size < sizeof(ControlHeader)
                       ? 0
                       : (header.control_size - sizeof(ControlHeader)) / sizeof(i32);
  i32 descriptors[fs::Rights::most];
  u32 given = 0;
  while (given < rights.count && given < room) {
    const Result<int> descriptor = resources_of(call).files().install(Ref<fs::OpenFile>::share(*rights.files[given]),
                                                                      close_on_exec, call.process.limits.open_files);
    if (!descriptor.ok()) break;
    descriptors[given++] = descriptor.value();
  }
  if (given > 0) (void)put(call, header, type_rights, descriptors, given * sizeof(i32));
  if (given < rights.count) header.flags |= message_control_truncated;
}

}  // namespace

Result<void> take_control(Call& call, const MessageHeader& header, fs::Sending& sending) {
  constexpr u64 most_given = 20480;  // net.core.optmem_max
  if (header.control_size > most_given) return Errno::enobufs;
  TRY(vm::prepare(call.space, call.thread.caller, {header.control}, header.control_size, vm::Access::read));
  u64 at = 0;
  const u64 end = header.control_size;
  while (end - at >= sizeof(ControlHeader)) {
    const auto own = TRY(call.read<ControlHeader>({header.control + at}));
    if (own.size < sizeof(ControlHeader) || own.size > end - at) return Errno::einval;
    const VirtualAddress contents{header.control + at + sizeof own};
    const u64 size = own.size - sizeof own;
    if (own.level == level_socket) {
      if (own.type == type_rights) {
        TRY(take_rights(call, contents, size, sending));
      } else if (own.type == type_credentials) {
        TRY(take_credentials(call, contents, size, sending));
      } else {
        return Errno::einval;
      }
    }
    const u64 step = round_up(own.size, alignment);
    if (step >= end - at) break;
    at += step;
  }
  return {};
}

Result<void> prepare_control(Call& call, MessageHeader& header) {
  if (header.control == 0) return {};
  const u64 size = fs::smaller(header.control_size, most_control);
  const Result<void> ready = vm::prepare(call.space, call.thread.caller, {header.control}, size, vm::Access::write);
  if (ready.ok() || ready.error() == Errno::blocked) return ready;
  header.control = 0;  // not there: as if there were no room
  return {};
}

void give_control(Call& call, MessageHeader& header, fs::Socket& socket, fs::Receiving& receiving, bool close_on_exec) {
  if (socket.wants_identity.load(Order::relaxed)) {
    const fs::Identity told = receiving.identified ? receiving.identity : fs::Identity{};
    const Credentials credentials{told.process, told.user, told.group};
    (void)put(call, header, type_credentials, &credentials, sizeof credentials);
  }
  if (receiving.rights != nullptr) give_rights(call, header, *receiving.rights, close_on_exec);
  if (receiving.lost_rights) header.flags |= message_control_truncated;
}

}  // namespace corral::abi
