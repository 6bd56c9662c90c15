// execve, execveat: replaces the program of the calling process. Everything that can fail is done before the old program is
// given up; the new address space is complete by then.
#include "abi/linux/call.h"
#include "abi/linux/execute.h"
#include "core/core.h"
#include "fs/executable.h"
#include "fs/permission.h"
#include "fs/resources.h"
#include "lib/memory_functions.h"
#include "memory/heap_array.h"
#include "task/credential_rules.h"
#include "task/executive.h"
#include "task/exit.h"
#include "task/program.h"
#include "task/robust_list.h"
#include "task/thread_names.h"
#include "task/tracees.h"

namespace corral::abi {

namespace {

constexpr u64 longest_path = 4096;
constexpr i32 at_fdcwd = -100;
constexpr u32 deepest_script = 4;
constexpr size_t script_line = 256;  // what Linux reads of a first line (BINPRM_BUF_SIZE)

// Takes in the strings of a null-terminated array of pointers. A null array is empty.
Result<void> take_strings(Call& call, VirtualAddress array, ArgumentBlock& block) {
  if (array.value == 0) return {};
  for (u64 i = 0;; ++i) {
    const u64 string = TRY(call.read<u64>(array + i * 8));
    if (string == 0) return {};
    if (i == ArgumentBlock::max_strings || block.room() == 0) return Errno::e2big;
    Result<u64> length = vm::copy_string_in(call.space, call.thread.caller, block.tail(), block.room(), {string});
    if (!length) return length.error() == Errno::enametoolong ? Errno::e2big : length.error();
    block.commit(length.value());
  }
}

// "#!interpreter [argument]" in the first line. False: not a script.
bool parse_script(std::string_view line, std::string_view& interpreter, std::string_view& argument) {
  if (!line.starts_with("#!")) return false;
  line.remove_prefix(2);
  if (const size_t end = line.find('\n'); end != std::string_view::npos) line = {line.data(), end};
  const auto trim = [](std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
  };
  line = trim(line);
  const size_t gap = line.find_first_of(" \t");
  interpreter = gap == std::string_view::npos ? line : std::string_view{line.data(), gap};
  argument = gap == std::string_view::npos ? std::string_view{} : trim({line.data() + gap, line.size() - gap});
  return !interpreter.empty();
}

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : std::string_view{path.data() + slash + 1, path.size() - slash - 1};
}

void set_name(char (&name)[16], std::string_view text) {
  const size_t length = text.size() < sizeof name - 1 ? text.size() : sizeof name - 1;
  memset(name, 0, sizeof name);
  memcpy(name, text.data(), length);
}

// Whom a program that is executed runs as.
struct NextCredentials {
  Ref<Credentials> credentials;
  bool secure = false;  // AT_SECURE
  bool hidden = false;  // its memory is not to be looked into: it holds what the user may not read
};

// Who may execute a file, but not read it, is not to read it out of the memory of the process. Asked of the program itself and of its
// interpreter.
void note_readable(Thread& thread, fs::Inode& file, NextCredentials& next) {
  if (!fs::permission::check(file, thread.credentials(), fs::may_read).ok()) next.hidden = true;
}

Result<NextCredentials> next_credentials(const Thread& thread, fs::Inode& file) {
  const Credentials& old = thread.credentials();
  fs::Attributes attributes = file.attributes();
  constexpr u32 set_id_bits = 06000;
  if (file.file_system().forbids(fs::mount_no_set_id)) attributes.permissions &= ~set_id_bits;
  NextCredentials next{TRY(old.copy())};
  next.secure =
      credential_rules::program_executed(old, *next.credentials, {attributes.permissions, attributes.user, attributes.group},
                                         thread.no_new_privileges.load(Order::relaxed));
  return next;
}

// Answers whether others of the same user may look into the process, once the old memory is gone.
bool change_credentials(Thread& thread, NextCredentials& next) {
  const Credentials& now = *next.credentials;
  ProcessManners& manners = thread.process().manners;
  const bool own = now.user.real == now.user.effective && now.group.real == now.group.effective;
  if (next.secure) manners.death_signal.store(0, Order::relaxed);
  thread.set_credentials(std::move(next.credentials));
  const bool dumpable = own && !next.hidden;
  if (!dumpable) manners.dumpable.store(false, Order::relaxed);
  return dumpable;
}

// From here on there is no way back.
void commit(Thread& thread, LoadedProgram& program, NextCredentials& next, std::string_view name, fs::Inode& file) {
  Process& process = thread.process();
  const ThreadId former = thread.id();
  process.adopt_leader_id(thread);
  process.executed.store(true, Order::relaxed);
  const bool dumpable = change_credentials(thread, next);
  process.timers.release(false);
  process.note_peak();
  process.resources->before_exec();
  thread.space = program.space.get();
  program.space->set_limits({process.limits.address_space, process.limits.data, process.limits.stack});
  process.set_space(std::move(program.space));
  process.manners.dumpable.store(dumpable, Order::release);
  process.places = program.places;
  process.barriers.store(0, Order::relaxed);
  {
    LockGuard guard{process.lock()};
    for (SignalAction& action : process.actions) {
      if (action.handler > 1) action.handler = 0;
      action = {.handler = action.handler};
    }
  }
  thread.signals.alternate_stack.forget();
  thread.signals.restore_blocked = false;
  thread.clear_child_tid = {};
  thread.robust_list.store(0, Order::relaxed);
  thread.tls = 0;
  thread.second_base = 0;
  thread.frame.start_user(program.entry, program.places.stack_start);
  thread_names::change(thread, name);
  set_name(process.name, name);
  Result<std::string_view> full = fs::name_of(file, {process.executable, sizeof process.executable - 1});
  process.executable[full ? full.value().size() : 0] = '\0';
  Executive& executive = *this_core().executive;
  thread.fp.reset();
  executive.reload_floating_point(thread);
  executive.reload_space();
  process.give_back_space();
  tracees::executed(thread, former);
}

// The file that the program names as its interpreter. eio: the name lies beyond the end; enoexec: it does not end.
Result<fs::Executable> open_interpreter(Thread& thread, ByteSource& source, const elf::Image& image) {
  memory::HeapArray<char> path;
  TRY(path.allocate(image.interpreter_size));
  const u64 got = TRY(source.read_at(image.interpreter_offset, {reinterpret_cast<u8*>(path.data()), image.interpreter_size}));
  if (got != image.interpreter_size) return Errno::eio;
  if (path.data()[got - 1] != '\0') return Errno::enoexec;
  return fs::Executable::open(thread, at_fdcwd, path.data());
}

// The images of both are large: each has a frame of its own.
[[gnu::noinline]] Result<LoadedProgram> load(Thread& thread, const ProgramFile& file, const ArgumentBlock& arguments,
                                             std::string_view path, NextCredentials& next) {
  // Where things are in a program with more rights is not its caller's to say.
  constexpr u64 most_if_secure = 8 << 20;
  const u64 limit = thread.process().limits.stack;
  const ProgramCircumstances circumstances{path, *next.credentials, next.secure,
                                           next.secure && limit > most_if_secure ? most_if_secure : limit};
  if (file.image.interpreter_size == 0) {
    TRY(thread.process().become_alone(thread));
    return load_program(thread.caller, file, nullptr, arguments, circumstances);
  }
  fs::Executable source = TRY(open_interpreter(thread, file.source, file.image));
  note_readable(thread, source.file(), next);
  const elf::Image image = TRY(read_interpreter(source));
  const ProgramFile interpreter{source, image};
  TRY(thread.process().become_alone(thread));
  return load_program(thread.caller, file, &interpreter, arguments, circumstances);
}

// As long as `program` is a script: makes it the program that the script names, and the script an argument of that.
[[gnu::noinline]] Result<void> follow_scripts(Thread& thread, fs::Executable& program, std::string_view path,
                                              ArgumentBlock& arguments) {
  char line[script_line];
  memory::HeapArray<char> text;
  for (u32 depth = 0;; ++depth) {
    const u64 got = TRY(program.read_at(0, {reinterpret_cast<u8*>(line), sizeof line}));
    std::string_view interpreter;
    std::string_view argument;
    if (!parse_script({line, got}, interpreter, argument)) return {};
    if (depth == deepest_script) return Errno::eloop;
    TRY(arguments.replace_first(interpreter, argument, path));
    if (text.data() == nullptr) TRY(text.allocate(script_line));
    memcpy(text.data(), interpreter.data(), interpreter.size());
    path = {text.data(), interpreter.size()};
    program = TRY(fs::Executable::open(thread, at_fdcwd, path));
  }
}

Result<i64> execute(Call& call, i32 directory, VirtualAddress path_at, VirtualAddress arguments_at,
                    VirtualAddress environment_at, u32 flags) {
  memory::HeapArray<char> path_text;
  TRY(path_text.allocate(longest_path));
  const u64 length = TRY(vm::copy_string_in(call.space, call.thread.caller, path_text.data(), longest_path, path_at));
  const std::string_view path{path_text.data(), length};

  ArgumentBlock arguments;
  TRY(arguments.allocate());
  TRY(take_strings(call, arguments_at, arguments));
  arguments.end_arguments();
  TRY(take_strings(call, environment_at, arguments));
  if (arguments.argument_count() == 0) TRY(arguments.replace_first(path, {}, {}));
  TRY(execute_program(call.thread, directory, path, arguments, flags));
  return 0;
}

Result<i64> sys_execve(Call& call) {
  return execute(call, at_fdcwd, call.address(0), call.address(1), call.address(2), 0);
}

Result<i64> sys_execveat(Call& call) {
  constexpr u32 nofollow = 0x100, empty_path = 0x1000;  // AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH
  if ((static_cast<u32>(call.argument[4]) & ~(nofollow | empty_path)) != 0) return Errno::einval;
  return execute(call, call.number(0), call.address(1), call.address(2), call.address(3), static_cast<u32>(call.argument[4]));
}

constexpr Entry entries[] = {{59, "execve", sys_execve}, {322, "execveat", sys_execveat}};

}  // namespace

Result<void> execute_program(Thread& thread, i32 directory, std::string_view path, ArgumentBlock& arguments, u32 flags) {
  fs::Executable program = TRY(fs::Executable::open(thread, directory, path, flags));
  TRY(follow_scripts(thread, program, path, arguments));
  const elf::Image image = TRY(read_image(program));
  NextCredentials next = TRY(next_credentials(thread, program.file()));
  note_readable(thread, program.file(), next);
  LoadedProgram loaded = TRY(load(thread, {program, image}, arguments, path, next));
  // What was shared with another process stays with that one (clone with CLONE_FILES).
  TRY(thread.process().unshare_resources());
  if (release_robust_list(thread) == Errno::blocked) {  // in the old memory
    thread.step = {};
    return Errno::blocked;
  }
  fs::Resources::of(thread.process()).set_program(program.take_denial());
  commit(thread, loaded, next, base_name(path), program.file());
  return {};
}

std::span<const Entry> exec_calls() {
  return entries;
}

}  // namespace corral::abi
