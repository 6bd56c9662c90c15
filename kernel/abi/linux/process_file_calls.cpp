// Processes and signals as files: pidfd_open, pidfd_send_signal, pidfd_getfd, signalfd. Source: Linux man-pages of these calls. The
// order of the checks is Linux's.
#include "abi/linux/file_handlers.h"
#include "fs/event/process_file.h"
#include "fs/event/signal_file.h"
#include "task/authority.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

using fs::OpenFile;

Result<i64> install(Call& call, Ref<OpenFile> file, bool close_on_exec) {
  return i64{TRY(resources_of(call).files().install(std::move(file), close_on_exec, call.process.limits.open_files))};
}

Result<Ref<Process>> process_at(Call& call, unsigned index) {
  const Ref<OpenFile> file = TRY(file_at(call, index));
  return fs::process_of_file(*file);
}

// Signals can be sent to a process by its directory in /proc, too.
Result<Ref<Process>> receiver_at(Call& call, unsigned index) {
  const Ref<OpenFile> file = TRY(real_file_at(call, index));
  const i32 id = file->inode().process_number();
  if (id == 0) return fs::process_of_file(*file);
  Ref<Process> process = processes::find({id});
  if (!process) return Errno::esrch;
  return process;
}

// ---- pidfd -------------------------------------------------------------------------------------------------------------

Result<i64> sys_pidfd_open(Call& call) {
  const auto flags = static_cast<u32>(call.argument[1]);
  const i32 id = call.number(0);
  if ((flags & ~fs::o_nonblock) != 0 || id <= 0) return Errno::einval;
  const Ref<Process> process = processes::find({id});
  if (!process) return processes::find_thread({id}) ? Errno::einval : Errno::esrch;  // a thread is no process
  return install(call, TRY(fs::make_process_file(*process, flags)), true);
}

bool is_reaped(const Process& process) {
  LockGuard guard{processes::lock()};
  return process.state == ProcessState::reaped;
}

Result<i64> sys_pidfd_send_signal(Call& call) {
  if (static_cast<u32>(call.argument[3]) != 0) return Errno::einval;
  const Ref<Process> process = TRY(receiver_at(call, 0));
  const int signal = call.number(1);
  SignalInfo info{.number = signal, .code = code_user, .sender = call.process.id().value};
  info.sender_user = call.thread.credentials().user.real;
  if (call.argument[2] != 0) {
    const UserSignalInfo given = TRY(call.read<UserSignalInfo>(call.address(2)));
    if (given.number != signal) return Errno::einval;
    // Only to itself may a process say that the kernel, kill or tgkill sent it.
    if (process.get() != &call.process && (given.code >= 0 || given.code == code_tkill)) return Errno::eperm;
    info = from_user(given);
  }
  if (is_reaped(*process)) return Errno::esrch;
  if (signal < 0 || signal > signal_count) return Errno::einval;
  TRY(authority::may_signal(call.thread, *process, signal));
  if (signal == 0) return 0;
  TRY(signals::send(*process, info));
  return 0;
}

Result<i64> sys_pidfd_getfd(Call& call) {
  if (static_cast<u32>(call.argument[2]) != 0) return Errno::einval;
  const Ref<Process> process = TRY(process_at(call, 0));
  const Ref<fs::Resources> resources = fs::Resources::of_another(*process);
  if (process->ending() || !resources) return Errno::esrch;
  TRY(authority::may_look_into(call.thread, *process, authority::As::real));
  Ref<OpenFile> file = TRY(resources->files().get(call.number(1)));
  return install(call, std::move(file), true);
}

// ---- signalfd ----------------------------------------------------------------------------------------------------------

Result<i64> make_signal_file(Call& call, u32 flags) {
  if (call.argument[2] != sizeof(SignalSet)) return Errno::einval;
  const SignalSet set = TRY(call.read<SignalSet>(call.address(1)));
  if ((flags & ~(fs::o_cloexec | fs::o_nonblock)) != 0) return Errno::einval;
  if (call.number(0) == -1) {
    return install(call, TRY(fs::make_signal_file(set, flags & fs::o_nonblock)), (flags & fs::o_cloexec) != 0);
  }
  const Ref<OpenFile> file = TRY(file_at(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  TRY(fs::change_signal_file(*file, set));
  return call.number(0);
}

Result<i64> sys_signalfd(Call& call) {
  return make_signal_file(call, 0);
}

Result<i64> sys_signalfd4(Call& call) {
  return make_signal_file(call, static_cast<u32>(call.argument[3]));
}

constexpr Entry entries[] = {
    {282, "signalfd", sys_signalfd},
    {289, "signalfd4", sys_signalfd4},
    {424, "pidfd_send_signal", sys_pidfd_send_signal},
    {434, "pidfd_open", sys_pidfd_open},
    {438, "pidfd_getfd", sys_pidfd_getfd},
};

}  // namespace

std::span<const Entry> process_file_calls() {
  return entries;
}

}  // namespace corral::abi
