// See file_signal_commands.h. Source: Linux man-pages fcntl(2), "Managing signals", "Leases". The order of the checks is Linux's.
#include "abi/linux/file_signal_commands.h"

#include "fs/event/file_signals.h"
#include "fs/inode.h"
#include "fs/leases.h"
#include "fs/permission.h"
#include "fs/watch/directory_notice.h"

namespace corral::abi {

namespace {

using fs::FileSignals;
using fs::OpenFile;
using fs::leases::Kind;
using Owner = FileSignals::Owner;
using Whom = FileSignals::Whom;

struct UserOwner {  // struct f_owner_ex
  i32 type, id;
};

// What was never asked for need not be made to be told.
FileSignals* known_signals(OpenFile& file) {
  return file.signals.load(Order::acquire);
}

Owner owner_of(OpenFile& file) {
  FileSignals* signals = known_signals(file);
  return signals == nullptr ? Owner{} : signals->owner();
}

Result<void> set_owner(Call& call, OpenFile& file, const Owner& owner) {
  FileSignals* signals = TRY(FileSignals::of(file));
  return signals->set_owner(call.thread, owner);
}

Result<i64> set_owner_number(Call& call, OpenFile& file, int number) {
  if (number == INT32_MIN) return Errno::einval;
  const Owner owner = number < 0 ? Owner{Whom::group, -number} : Owner{Whom::process, number};
  return success(set_owner(call, file, owner));
}

i32 owner_number(OpenFile& file) {
  const Owner owner = owner_of(file);
  return owner.whom == Whom::group ? -owner.id : owner.id;
}

Result<i64> set_owner_structure(Call& call, OpenFile& file) {
  const auto wanted = TRY(call.read<UserOwner>(call.address(2)));
  if (wanted.type < 0 || wanted.type > static_cast<i32>(Whom::group)) return Errno::einval;
  if (wanted.id < 0) return Errno::esrch;
  return success(set_owner(call, file, {static_cast<Whom>(wanted.type), wanted.id}));
}

Result<i64> get_owner_structure(Call& call, OpenFile& file) {
  const Owner owner = owner_of(file);
  TRY(call.write(call.address(2), UserOwner{static_cast<i32>(owner.whom), owner.id}));
  return 0;
}

Result<i64> set_signal(Call& call, OpenFile& file) {
  if (call.argument[2] > static_cast<u64>(signal_count)) return Errno::einval;
  FileSignals* signals = TRY(FileSignals::of(file));
  signals->set_signal(call.number(2));
  return 0;
}

// Whoever may have a lease need not be allowed to open the file so.
Result<i64> set_lease(Call& call, OpenFile& file) {
  const u64 wanted = call.argument[2];
  if (wanted > static_cast<u64>(Kind::none)) return Errno::einval;
  const Credentials& credentials = call.thread.credentials();
  if (credentials.user.files != file.inode().attributes().user && !credentials.may(Capability::lease)) return Errno::eacces;
  if (file.inode().type() != fs::FileType::regular) return Errno::einval;
  FileSignals* signals = TRY(FileSignals::of(file));
  TRY(fs::leases::set(file, *signals, static_cast<Kind>(wanted)));
  if (signals->owner().id == 0) TRY(signals->set_owner(call.thread, {Whom::process, call.process.id().value}));
  signals->set_descriptor(call.number(0));
  return 0;
}

// Whoever asks is told, unless somebody was chosen before.
Result<i64> notify(Call& call, OpenFile& file) {
  if (fs::directory_notices_enabled.value() == 0) return Errno::einval;
  const fs::FileTable& files = resources_of(call).files();
  const auto wanted = static_cast<u32>(call.argument[2]);
  if ((wanted & ~fs::DirectoryNotice::again) == 0) {
    (void)file.notify(files, wanted);
    return 0;  // of whatever file
  }
  if (!file.inode().is_directory()) return Errno::enotdir;
  FileSignals* signals = TRY(FileSignals::of(file));
  if (signals->owner().id == 0) TRY(signals->set_owner(call.thread, {Whom::process, call.process.id().value}));
  signals->set_descriptor(call.number(0));
  return success(file.notify(files, wanted));
}

}  // namespace

Result<i64> signal_command(Call& call, OpenFile& file) {
  enum : int {
    change_owner = 8,
    get_owner = 9,
    change_signal = 10,
    get_signal = 11,
    change_owner_ex = 15,
    tell_owner_ex = 16,
    change_lease = 1024,
    get_lease = 1025,
    notify_changes = 1026,
  };
  switch (call.number(1)) {
    case change_owner: return set_owner_number(call, file, call.number(2));
    case get_owner: return i64{owner_number(file)};
    case change_owner_ex: return set_owner_structure(call, file);
    case tell_owner_ex: return get_owner_structure(call, file);
    case change_signal: return set_signal(call, file);
    case get_signal: return i64{known_signals(file) == nullptr ? 0 : known_signals(file)->signal()};
    case change_lease: return set_lease(call, file);
    case get_lease: return static_cast<i64>(fs::leases::get(file));
    case notify_changes: return notify(call, file);
    default: return Errno::einval;
  }
}

Result<i64> owner_request(Call& call, OpenFile& socket, bool set) {
  if (set) return set_owner_number(call, socket, TRY(call.read<i32>(call.address(2))));
  TRY(call.write(call.address(2), owner_number(socket)));
  return 0;
}

Result<void> tell_by_signals(Call& call, OpenFile& file, bool on) {
  FileSignals* signals = TRY(FileSignals::of(file));
  signals->listen(file, call.number(0), on);
  return {};
}

}  // namespace corral::abi
