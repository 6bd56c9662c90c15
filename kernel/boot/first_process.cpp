// See first_process.h.
#include "boot/first_process.h"

#include "abi/linux/execute.h"
#include "core/core.h"
#include "device/machine.h"
#include "fs/setup.h"
#include "lib/format.h"
#include "task/executive.h"
#include "task/exit.h"
#include "task/process.h"
#include "tests/kernel/kernel_test.h"
#include "trace/log.h"

namespace corral::boot {

namespace {

constexpr i32 at_fdcwd = -100;
constexpr int status_no_init = 127;
constexpr int signal_base = 128;
constexpr std::string_view environment[] = {"HOME=/root", "PATH=/bin:/sbin:/usr/bin:/usr/sbin", "TERM=linux"};
constexpr std::string_view fallback = "/bin/sh";

constinit const Options* options = nullptr;

// The status that people know: the exit code, or 128 + signal.
void end_machine(i32 wait_status) {
  const i32 signal = wait_status & 0x7f;
  const int status = signal != 0 ? signal_base + signal : (wait_status >> 8) & 0xff;
  if (signal != 0) log::error("the first process was ended by signal {}", signal);
  machine::power_off(status);
}

Result<void> execute(Thread& thread, std::string_view path, bool with_arguments) {
  constexpr size_t most_words = 128;
  ArgumentBlock arguments;
  TRY(arguments.allocate());
  TRY(arguments.append(path));
  if (with_arguments && !options->arguments.empty()) {
    static char text[1024];  // this step runs once, on one core
    static const char* words[most_words];
    const SplitResult split = split_arguments(options->arguments, text, words);
    if (!split.complete) log::warning("the arguments of the first process are too long or have an open quote; cut");
    for (size_t i = 0; i < split.count; ++i) TRY(arguments.append(words[i]));
  }
  arguments.end_arguments();
  for (std::string_view variable : environment) TRY(arguments.append(variable));
  return abi::execute_program(thread, at_fdcwd, path, arguments, 0);
}

// ---- a root of its own -----------------------------------------------------------------------------------------------

constexpr std::string_view root_environment[] = {"HOME=/root",
                                                 "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                                 "TERM=linux", "LANG=C.UTF-8", "USER=root"};
constexpr std::string_view root_folders[] = {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/",
                                             "/usr/bin/",        "/sbin/",          "/bin/"};
constexpr std::string_view root_shells[] = {"/bin/bash", "/bin/sh"};
constinit bool root_changed = false;  // by the first thread

// With the words of the command line, or (without `words`) as a shell.
Result<void> execute_in_root(Thread& thread, std::string_view path, std::span<const char* const> words) {
  ArgumentBlock arguments;
  TRY(arguments.allocate());
  if (words.empty()) TRY(arguments.append(path));
  for (const char* word : words) TRY(arguments.append(word));
  arguments.end_arguments();
  for (std::string_view variable : root_environment) TRY(arguments.append(variable));
  return abi::execute_program(thread, at_fdcwd, path, arguments, 0);
}

// As a shell finds it: a name without a slash is looked for in the folders of PATH.
Result<void> execute_words(Thread& thread, std::span<const char* const> words) {
  const std::string_view name{words[0]};
  if (name.find('/') != std::string_view::npos) return execute_in_root(thread, name, words);
  for (std::string_view folder : root_folders) {
    char path[256];
    const Result<void> done = execute_in_root(thread, format_to(path, "{}{}", folder, name), words);
    if (done || done.error() != Errno::enoent) return done;
  }
  return Errno::enoent;
}

Errno execute_from_root(Thread& thread) {
  if (!root_changed) {
    const Result<void> changed = fs::change_root(thread, options->root);
    if (!changed && changed.error() == Errno::blocked) return Errno::blocked;
    if (!changed) {
      log::error("root={}: cannot be used (error {}); it is 9p:TAG, and the machine needs a virtio-9p device with that tag",
                 options->root, changed.error());
      machine::power_off(status_no_init);
    }
    root_changed = true;
  }
  constexpr size_t most_words = 128;
  static char text[1024];  // written by every run of this step in the same way, and by nobody else
  static const char* words[most_words];
  const SplitResult split = split_arguments(options->arguments, text, words);
  if (!split.complete) log::warning("the first program's arguments are too long or have an open quote; cut");
  if (split.count > 0) {
    const Result<void> done = execute_words(thread, {words, split.count});
    if (done || done.error() == Errno::blocked) return done.error();
    log::error("{}: cannot be executed (error {})", words[0], done.error());
    machine::power_off(status_no_init);
  }
  for (std::string_view shell : root_shells) {
    const Result<void> done = execute_in_root(thread, shell, {});
    if (done || done.error() == Errno::blocked) return done.error();
  }
  log::error("root={}: there is neither /bin/bash nor /bin/sh; say what to run behind --", options->root);
  machine::power_off(status_no_init);
}

Errno execute_init(Thread& thread) {
  if (!options->test.empty()) {
    const bool passed = tests::run_kernel_tests(options->test);
    machine::power_off(passed ? 0 : 1);
  }
  if (!options->root.empty()) return execute_from_root(thread);
  Result<void> done = execute(thread, options->init, true);
  if (done) return Errno{};
  if (done.error() == Errno::blocked) return Errno::blocked;
  log::error("init={}: cannot be executed (error {}); give an initramfs that has it, or name another program with init=",
             options->init, done.error());
  if (execute(thread, fallback, false)) {
    log::warning("{} is running instead", fallback);
    return Errno{};
  }
  log::error("there is no {} either: the initramfs is missing or damaged (QEMU: -initrd build/user/initramfs.cpio)", fallback);
  machine::power_off(status_no_init);
}

}  // namespace

Result<void> start_first_process(const Options& boot_options) {
  options = &boot_options;
  set_machine_end(end_machine);
  Ref<Process> process = TRY(Process::create(nullptr, false));
  process->group.store(process->id().value, Order::relaxed);
  process->session.store(process->id().value, Order::relaxed);
  process->resources = TRY(fs::first_resources(*process));
  process->set_space(TRY(vm::AddressSpace::create()));
  Ref<Thread> thread = TRY(process->add_thread(nullptr));
  thread->fp.reset();
  thread->frame.start_user({0}, {0});
  thread->current_step = execute_init;
  this_core().executive->start(*thread);
  return {};
}

}  // namespace corral::boot
