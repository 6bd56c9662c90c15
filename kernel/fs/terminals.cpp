// See terminals.h. The table of pseudo-terminals (rank terminals) holds no references: a terminal leaves it when its master is
// closed. Its name in /dev/pts comes and goes with that.
#include "fs/terminals.h"

#include "fs/console_terminal.h"
#include "fs/pseudo_terminal.h"
#include "fs/resources.h"
#include "fs/terminal_requests.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

constexpr u32 most_terminals = 1024;

class Table {
 public:
  // The lowest free number; null: none.
  Result<Ref<PseudoTerminal>> create() EXCLUDES(lock_);
  void remove(PseudoTerminal& terminal) EXCLUDES(lock_);
  [[nodiscard]] Ref<PseudoTerminal> find(u32 number) EXCLUDES(lock_);
  // The first for which `wanted` holds.
  template <class Wanted>
  [[nodiscard]] Ref<PseudoTerminal> first_where(Wanted&& wanted) EXCLUDES(lock_) {
    LockGuard guard{lock_};
    for (u32 i = 0; i < end_; ++i) {
      if (terminals_[i] != nullptr && wanted(*terminals_[i]) && terminals_[i]->retain_if_alive()) {
        return Ref<PseudoTerminal>::adopt(terminals_[i]);
      }
    }
    return {};
  }

 private:
  SpinLock lock_{Rank::terminals, "terminals"};
  PseudoTerminal* terminals_[most_terminals] GUARDED_BY(lock_) = {};
  u32 end_ GUARDED_BY(lock_) = 0;  // no number from here on was ever used
};

constinit Table table;
constinit Inode* directory = nullptr;  // boot; a reference for ever

Result<Ref<PseudoTerminal>> Table::create() {
  LockGuard guard{lock_};
  for (u32 i = 0; i < most_terminals; ++i) {
    if (terminals_[i] != nullptr) continue;
    terminals_[i] = TRY(memory::make<PseudoTerminal>(i));
    if (i >= end_) end_ = i + 1;
    return Ref<PseudoTerminal>::adopt(terminals_[i]);
  }
  return Errno::enospc;
}

void Table::remove(PseudoTerminal& terminal) {
  LockGuard guard{lock_};
  terminals_[terminal.number().minor] = nullptr;
}

Ref<PseudoTerminal> Table::find(u32 number) {
  return first_where([number](const PseudoTerminal& terminal) { return terminal.number().minor == number; });
}

std::string_view name_of(const PseudoTerminal& terminal, std::span<char> to) {
  return format_to(to, "{}", terminal.number().minor);
}

// A terminal, opened. `owner` keeps a pseudo-terminal alive.
class TerminalFile final : public OpenFile {
 public:
  TerminalFile(Ref<Inode> inode, u32 flags, Terminal& terminal, Ref<PseudoTerminal> owner, Terminal::Life life)
      : OpenFile{std::move(inode), flags}, terminal_{terminal}, owner_{std::move(owner)}, life_{life} {}
  ~TerminalFile() override { terminal_.closed(life_); }

  Result<u64> read(Thread& thread, Transfer& transfer) override {
    return terminal_.read(thread, transfer, nonblocking(), life_);
  }
  Result<u64> write(Thread& thread, Transfer& transfer) override {
    return terminal_.write(thread, transfer, nonblocking(), life_);
  }
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) override {
    return terminal_.control(thread, space, request, argument, life_);
  }
  u32 poll(PollEntry* entry) override { return terminal_.poll(entry, life_); }
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool can_signal() const override { return true; }
  Result<u64> available() override { return terminal_.available(life_); }

 private:
  Terminal& terminal_;
  const Ref<PseudoTerminal> owner_;
  const Terminal::Life life_;
};

Result<Ref<OpenFile>> open_slave_of(Inode& node, const Ref<PseudoTerminal>& terminal, u32 flags) {
  const Terminal::Life life = TRY(terminal->slave_opened());
  PseudoTerminal& there = *terminal;
  Result<TerminalFile*> file = memory::make<TerminalFile>(Ref<Inode>::share(node), flags, there, terminal, life);
  if (!file) {
    there.closed(life);
    return file.error();
  }
  return Ref<OpenFile>{Ref<TerminalFile>::adopt(file.value())};
}

class MasterFile final : public OpenFile {
 public:
  MasterFile(Ref<Inode> inode, u32 flags, Ref<PseudoTerminal> terminal, Ref<Inode> slave)
      : OpenFile{std::move(inode), flags}, terminal_{std::move(terminal)}, slave_{std::move(slave)} {}
  ~MasterFile() override {
    char text[16];
    (void)directory->unlink(name_of(*terminal_, text));
    table.remove(*terminal_);
    terminal_->master_closed();
  }

  Result<u64> read(Thread& thread, Transfer& transfer) override {
    return terminal_->read_output(thread, transfer, nonblocking());
  }
  Result<u64> write(Thread& thread, Transfer& transfer) override {
    return terminal_->type_input(thread, transfer, nonblocking());
  }
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) override {
    if (request == tty::open_peer) return open_peer(thread, static_cast<u32>(argument));
    return terminal_->master_control(thread, space, request, argument);
  }
  u32 poll(PollEntry* entry) override { return terminal_->poll_master(entry); }
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool can_signal() const override { return true; }
  Result<u64> available() override { return terminal_->output_available(); }

 private:
  Result<i64> open_peer(Thread& thread, u32 flags) {
    Ref<OpenFile> file = TRY(open_slave_of(*slave_, terminal_, flags));
    if ((flags & o_noctty) == 0) terminal_->adopt(thread.process());
    FileTable& files = Resources::of(thread.process()).files();
    return i64{TRY(files.install(file, (flags & o_cloexec) != 0, thread.process().limits.open_files))};
  }

  const Ref<PseudoTerminal> terminal_;
  const Ref<Inode> slave_;
};

Result<Ref<OpenFile>> open_line(Inode& node, u32 flags, bool survives) {
  ConsoleTerminal& console = console_terminal();
  const Terminal::Life life = survives ? Terminal::every_life : console.opened();
  Result<TerminalFile*> file = memory::make<TerminalFile>(Ref<Inode>::share(node), flags, console, Ref<PseudoTerminal>{}, life);
  if (!file) {
    console.closed(life);
    return file.error();
  }
  return Ref<OpenFile>{Ref<TerminalFile>::adopt(file.value())};
}

Ref<PseudoTerminal> pseudo_terminal_of(const Process& process) {
  return table.first_where([&](const PseudoTerminal& terminal) { return terminal.controls(process); });
}

}  // namespace

Result<Ref<OpenFile>> open_console(Inode& node, const OpenRequest& request) {
  Ref<OpenFile> file = TRY(open_line(node, request.flags, true));
  if ((request.flags & o_noctty) == 0) console_terminal().adopt(request.thread.process());
  return file;
}

Result<Ref<OpenFile>> open_first_console(Inode& node) {
  return open_line(node, o_rdwr | o_largefile, true);
}

Result<Ref<OpenFile>> open_console_line(Inode& node, const OpenRequest& request) {
  Ref<OpenFile> file = TRY(open_line(node, request.flags, false));
  if ((request.flags & o_noctty) == 0) console_terminal().adopt(request.thread.process());
  return file;
}

Result<Ref<OpenFile>> open_own_terminal(Inode& node, const OpenRequest& request) {
  const Process& process = request.thread.process();
  if (console_terminal().controls(process)) return open_line(node, request.flags, false);
  Ref<PseudoTerminal> terminal = pseudo_terminal_of(process);
  if (!terminal) return Errno::enxio;
  return open_slave_of(node, terminal, request.flags);
}

Result<Ref<OpenFile>> open_pseudo_terminal(Inode& node, const OpenRequest& request) {
  Ref<PseudoTerminal> terminal = TRY(table.create());
  char text[16];
  const std::string_view name = name_of(*terminal, text);
  Result<Ref<Inode>> slave =
      directory->create(name, {.type = FileType::character, .permissions = 0620, .special = terminal->number()});
  if (!slave) {
    table.remove(*terminal);
    return slave.error();
  }
  PseudoTerminal& made = *terminal;
  Result<MasterFile*> file = memory::make<MasterFile>(Ref<Inode>::share(node), request.flags, terminal, slave.take());
  if (!file) {
    (void)directory->unlink(name);
    table.remove(made);
    return file.error();
  }
  return Ref<OpenFile>{Ref<MasterFile>::adopt(file.value())};
}

Result<Ref<OpenFile>> open_slave(Inode& node, u32 number, const OpenRequest& request) {
  Ref<PseudoTerminal> terminal = table.find(number);
  if (!terminal) return Errno::eio;
  PseudoTerminal& there = *terminal;
  Ref<OpenFile> file = TRY(open_slave_of(node, terminal, request.flags));
  if ((request.flags & o_noctty) == 0) there.adopt(request.thread.process());
  return file;
}

void set_pseudo_terminal_directory(Ref<Inode> made) {
  directory = made.release();
}

bool has_terminal(const Process& process) {
  return console_terminal().controls(process) || pseudo_terminal_of(process);
}

TerminalFacts terminal_of(const Process& process) {
  const ConsoleTerminal& console = console_terminal();
  if (console.controls(process)) return {console.number().encoded(), console.foreground_group()};
  const Ref<PseudoTerminal> terminal = pseudo_terminal_of(process);
  if (!terminal) return {};
  return {terminal->number().encoded(), terminal->foreground_group()};
}

void session_leader_ends(Process& leader) {
  ConsoleTerminal& console = console_terminal();
  if (console.controls(leader)) {
    console.lose_session(false);
    console.hang_up();
  } else if (const Ref<PseudoTerminal> terminal = pseudo_terminal_of(leader)) {
    terminal->lose_session(false);
  } else if (const i32 group = leader.hung_up_group.load(Order::relaxed); group != 0) {
    for (const int signal : {sighup, sigcont}) { (void)signals::send_to_group(group, {.number = signal, .code = code_kernel}); }
  }
}

void hang_up_own(const Process& process) {
  if (console_terminal().controls(process)) {
    console_terminal().hang_up();
  } else if (const Ref<PseudoTerminal> terminal = pseudo_terminal_of(process)) {
    terminal->hang_up();
  }
}

}  // namespace corral::fs
