// Core dumps: when a process that a signal ends leaves a file, what it is called, and what is in it of memory and threads.
// Where the system means other files by its pattern, as most Linux systems do, and this is not root, next to nothing is tried.

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "tests/check.h"
#include "tests/children.h"

namespace {

constexpr const char* pattern_file = "/proc/sys/kernel/core_pattern";
constexpr const char* uses_pid_file = "/proc/sys/kernel/core_uses_pid";
constexpr char secret[] = "to be found in the dump";
constexpr uint64_t mark = 0x1234'5678'9abc'def0;  // in a register of each thread

void limit_core(rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  CHECK_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
}

bool write_text(const char* path, const char* text) {
  const int file = open(path, O_WRONLY);
  if (file < 0) return false;
  const bool written = write(file, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  close(file);
  return written;
}

size_t read_text(const char* path, char* to, size_t room) {
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  const ssize_t size = read(file, to, room - 1);
  CHECK(size >= 0);
  close(file);
  to[size] = '\0';
  return static_cast<size_t>(size);
}

bool exists(const char* path) {
  struct stat found;
  return stat(path, &found) == 0;
}

// What is read of a core file.
class Core {
 public:
  explicit Core(const char* path) {
    const int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    struct stat found;
    CHECK_EQ(fstat(file, &found), 0);
    CHECK_EQ(found.st_mode & 07777, 0600);
    size_ = static_cast<size_t>(found.st_size);
    void* bytes = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(bytes != MAP_FAILED);
    bytes_ = static_cast<const char*>(bytes);
    close(file);
    CHECK(memcmp(bytes_, ELFMAG, SELFMAG) == 0);
    CHECK_EQ(header().e_type, ET_CORE);
    CHECK_EQ(header().e_machine, EM_X86_64);
    CHECK_EQ(segment(0).p_type, PT_NOTE);
  }
  ~Core() { munmap(const_cast<char*>(bytes_), size_); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] const Elf64_Ehdr& header() const { return *reinterpret_cast<const Elf64_Ehdr*>(bytes_); }
  [[nodiscard]] const Elf64_Phdr& segment(size_t index) const {
    return reinterpret_cast<const Elf64_Phdr*>(bytes_ + header().e_phoff)[index];
  }
  // The bytes of the process at this address; null: they are not in the file.
  [[nodiscard]] const char* at(const volatile void* address) const {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    for (size_t i = 1; i < header().e_phnum; ++i) {
      const Elf64_Phdr& found = segment(i);
      CHECK_EQ(found.p_type, PT_LOAD);
      CHECK(found.p_offset + found.p_filesz <= size_);
      if (wanted >= found.p_vaddr && wanted < found.p_vaddr + found.p_filesz)
        return bytes_ + found.p_offset + wanted - found.p_vaddr;
    }
    return nullptr;
  }
  // The note of this type that comes `index`-th; null: there are not so many.
  template <typename T>
  [[nodiscard]] const T* note(uint32_t type, unsigned index = 0) const {
    const Elf64_Phdr& notes = segment(0);
    for (uint64_t at = 0; at < notes.p_filesz;) {
      const auto& found = *reinterpret_cast<const Elf64_Nhdr*>(bytes_ + notes.p_offset + at);
      const uint64_t data = at + sizeof found + ((found.n_namesz + 3) & ~3u);
      at = data + ((found.n_descsz + 3) & ~3u);
      CHECK(at <= notes.p_filesz);
      if (found.n_type == type && index-- == 0) {
        CHECK(found.n_descsz >= sizeof(T));
        return reinterpret_cast<const T*>(bytes_ + notes.p_offset + data);
      }
    }
    return nullptr;
  }

 private:
  const char* bytes_ = nullptr;
  size_t size_ = 0;
};

// A child that ends by this signal; true: with a dump.
bool dumps(int signal, rlim_t limit, bool dumpable = true) {
  const pid_t child = children::spawn([&] {
    limit_core(limit);
    prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0);
    raise(signal);
    return 1;
  });
  const int status = children::wait_for(child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), signal);
  return WCOREDUMP(status);
}

void test_which_signals() {
  for (const int signal :
       children::Numbers{SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS}) {
    CHECK(dumps(signal, RLIM_INFINITY));
    CHECK(exists("core"));
    CHECK_EQ(unlink("core"), 0);
  }
  for (const int signal : children::Numbers{SIGTERM, SIGKILL, SIGUSR1, SIGPIPE}) CHECK(!dumps(signal, RLIM_INFINITY));
  CHECK(!dumps(SIGABRT, 0));
  CHECK(!dumps(SIGABRT, RLIM_INFINITY, false));
  CHECK(!exists("core"));
}

// It says so to waitid and in SIGCHLD, too.
void test_what_the_parent_hears() {
  const pid_t child = children::spawn([] {
    limit_core(RLIM_INFINITY);
    raise(SIGABRT);
    return 1;
  });
  siginfo_t told{};
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &told, WEXITED), 0);
  CHECK_EQ(told.si_code, CLD_DUMPED);
  CHECK_EQ(told.si_status, SIGABRT);
  CHECK_EQ(unlink("core"), 0);
}

void test_limit() {
  constexpr rlim_t limit = 3 * 4096;
  CHECK(dumps(SIGSEGV, limit));  // as far as there is room
  struct stat found;
  CHECK_EQ(stat("core", &found), 0);
  CHECK(found.st_blocks * 512 <= static_cast<long>(limit + 2 * 4096));  // two may be filled in part
  CHECK_EQ(unlink("core"), 0);
}

// What has the name of the dump makes room for it, if it can; it is not written to.
void test_files_that_are_there() {
  const int mine = open("other", O_CREAT | O_RDWR, 0644);
  CHECK(mine >= 0);
  CHECK_EQ(link("other", "core"), 0);
  CHECK(dumps(SIGSEGV, RLIM_INFINITY));
  { const Core core{"core"}; }
  CHECK_EQ(unlink("core"), 0);
  CHECK_EQ(symlink("other", "core"), 0);
  CHECK(dumps(SIGSEGV, RLIM_INFINITY));
  { const Core core{"core"}; }
  CHECK_EQ(lseek(mine, 0, SEEK_END), 0);
  CHECK_EQ(unlink("core"), 0);
  CHECK_EQ(mkdir("core", 0700), 0);
  CHECK(!dumps(SIGSEGV, RLIM_INFINITY));
  CHECK_EQ(rmdir("core"), 0);
  CHECK_EQ(unlink("other"), 0);
  close(mine);
}

struct Places {  // what the child that is dumped has, where the parent can look
  char* own;        // changed since the fork
  char* untouched;
  char* shared;
  char* file;       // of a private mapping, changed
  char* file_rest;  // of the same, not changed
  char* left_out;   // changed, but not to be dumped
  char* closed;     // changed, and then closed to the program itself
  char* closed_file;  // of a private mapping, the same
  char* reserved;   // never opened, reserved_size
  char* sparse;     // sparse_size, of which one page in the middle was touched
  volatile pid_t threads[3];
  volatile int ready;
};

constexpr size_t reserved_size = size_t{1} << 40, sparse_size = size_t{1} << 32;
Places* places;
char data[64] = "data of the program";

// Waits for ever in a system call, or without one, with the mark in a register.
void* stand(void* calls) {
  places->threads[calls != nullptr ? 1 : 2] = static_cast<pid_t>(syscall(SYS_gettid));
  __atomic_fetch_add(&places->ready, 1, __ATOMIC_SEQ_CST);
  if (calls != nullptr) {
    __asm__ volatile("mov %0, %%r12\n\t1: mov $34, %%eax\n\tsyscall\n\tjmp 1b"
                     :
                     : "r"(mark)
                     : "rax", "rcx", "r11", "r12", "memory");
  } else {
    __asm__ volatile("mov %0, %%r12\n\tmovq %0, %%xmm5\n\t1: pause\n\tjmp 1b" : : "r"(mark) : "r12", "xmm5", "memory");
  }
  return nullptr;
}

int be_dumped() {
  limit_core(RLIM_INFINITY);
  places->threads[0] = getpid();
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, stand, data), 0);
  CHECK_EQ(pthread_create(&thread, nullptr, stand, nullptr), 0);
  while (__atomic_load_n(&places->ready, __ATOMIC_SEQ_CST) != 2) check_sleep_us(1000);
  check_sleep_us(1000);  // then one of them most likely waits in its call
  strcpy(places->own, secret);
  strcpy(data, secret);
  strcpy(places->left_out, secret);
  CHECK_EQ(madvise(places->left_out, 4096, MADV_DONTDUMP), 0);
  strcpy(places->file, secret);
  strcpy(places->sparse + sparse_size / 2, secret);
  strcpy(places->closed, secret);
  strcpy(places->closed_file, secret);
  CHECK_EQ(mprotect(places->closed, 4096, PROT_NONE), 0);
  CHECK_EQ(mprotect(places->closed_file, 4096, PROT_NONE), 0);
  *check_address(0x10) = 1;
  return 1;
}

void check_threads(const Core& core) {
  bool found[3] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const auto* status = core.note<elf_prstatus>(NT_PRSTATUS, i);
    CHECK(status != nullptr);
    user_regs_struct registers;
    static_assert(sizeof registers == sizeof status->pr_reg);
    memcpy(&registers, &status->pr_reg, sizeof registers);
    CHECK_EQ(status->pr_cursig, SIGSEGV);
    CHECK(core.note<user_fpregs_struct>(NT_FPREGSET, i) != nullptr);
    for (unsigned n = 0; n < 3; ++n) {
      if (status->pr_pid == places->threads[n]) found[n] = true;
    }
    if (i == 0) {
      CHECK_EQ(status->pr_pid, places->threads[0]);
      CHECK_EQ(status->pr_ppid, getpid());
    } else {
      CHECK_EQ(registers.r12, mark);
    }
    if (status->pr_pid == places->threads[2]) {
      uint64_t fifth;
      memcpy(&fifth, &core.note<user_fpregs_struct>(NT_FPREGSET, i)->xmm_space[20], sizeof fifth);
      CHECK_EQ(fifth, mark);
    }
  }
  CHECK(found[0] && found[1] && found[2]);
  CHECK(core.note<elf_prstatus>(NT_PRSTATUS, 3) == nullptr);
}

void check_process(const Core& core) {
  const auto* process = core.note<elf_prpsinfo>(NT_PRPSINFO);
  CHECK(process != nullptr);
  CHECK_EQ(process->pr_pid, places->threads[0]);
  CHECK(strcmp(process->pr_fname, "coretest") == 0);
  CHECK(strstr(process->pr_psargs, "coretest") != nullptr);
  const auto* signal = core.note<siginfo_t>(NT_SIGINFO);
  CHECK(signal != nullptr);
  CHECK_EQ(signal->si_signo, SIGSEGV);
  CHECK_EQ(signal->si_code, SEGV_MAPERR);
  CHECK_EQ(reinterpret_cast<uintptr_t>(signal->si_addr), 0x10);
  const auto* auxiliary = core.note<Elf64_auxv_t>(NT_AUXV);
  CHECK(auxiliary != nullptr);
  bool page_size_told = false;
  for (; auxiliary->a_type != AT_NULL; ++auxiliary) page_size_told = page_size_told || auxiliary->a_type == AT_PAGESZ;
  CHECK(page_size_told);
}

// The files that are mapped: this program and the one that the test has made.
void check_files(const Core& core, const char* program) {
  struct Range {
    uint64_t start, end, page;
  };
  const auto* head = core.note<uint64_t[2]>(NT_FILE);
  CHECK(head != nullptr);
  const auto* ranges = reinterpret_cast<const Range*>(*head + 2);
  const char* name = reinterpret_cast<const char*>(ranges + (*head)[0]);
  bool program_told = false, file_told = false;
  for (uint64_t i = 0; i < (*head)[0]; ++i, name += strlen(name) + 1) {
    program_told = program_told || strcmp(name, program) == 0;
    const bool starts = ranges[i].start == reinterpret_cast<uintptr_t>(places->file);
    if (starts) CHECK(strstr(name, "/mapped") != nullptr);
    file_told = file_told || starts;
  }
  CHECK(program_told && file_told);
}

void check_memory(const Core& core) {
  CHECK(core.at(places->left_out) == nullptr);
  const char* own = core.at(places->own);
  CHECK(own != nullptr && strcmp(own, secret) == 0);
  const char* changed = core.at(data);
  CHECK(changed != nullptr && strcmp(changed, secret) == 0);
  const char* untouched = core.at(places->untouched);
  CHECK(untouched != nullptr && *untouched == '\0');
  const char* shared = core.at(places->shared);
  CHECK(shared != nullptr && strcmp(shared, secret) == 0);
  const char* file = core.at(places->file);
  CHECK(file != nullptr && strcmp(file, secret) == 0);
  const char* rest = core.at(places->file_rest);
  CHECK(rest != nullptr && *rest == 'f');
  const char* closed = core.at(places->closed);
  CHECK(closed != nullptr && strcmp(closed, secret) == 0);
  closed = core.at(places->closed_file);
  CHECK(closed != nullptr && strcmp(closed, secret) == 0);
  CHECK(core.at(places->reserved + reserved_size / 2) == nullptr);
  const char* touched = core.at(places->sparse + sparse_size / 2);
  CHECK(touched != nullptr && strcmp(touched, secret) == 0);
  CHECK_EQ(*core.at(places->sparse), 0);
}

void test_contents() {
  constexpr size_t page = 4096;
  const int file = open("mapped", O_CREAT | O_RDWR, 0600);
  CHECK(file >= 0);
  char text[2 * page];
  memset(text, 'f', sizeof text);
  CHECK_EQ(write(file, text, sizeof text), sizeof text);
  const auto map = [](size_t size, int flags, int of = -1, int protection = PROT_READ | PROT_WRITE) {
    void* memory = mmap(nullptr, size, protection, flags, of, 0);
    CHECK(memory != MAP_FAILED);
    return static_cast<char*>(memory);
  };
  places = reinterpret_cast<Places*>(map(page, MAP_SHARED | MAP_ANONYMOUS));
  places->own = map(page, MAP_PRIVATE | MAP_ANONYMOUS);
  places->untouched = map(600 * page, MAP_PRIVATE | MAP_ANONYMOUS) + 300 * page;
  places->left_out = map(page, MAP_PRIVATE | MAP_ANONYMOUS);
  places->shared = map(page, MAP_SHARED | MAP_ANONYMOUS);
  places->file = map(2 * page, MAP_PRIVATE, file);
  places->file_rest = places->file + page;
  places->closed = map(page, MAP_PRIVATE | MAP_ANONYMOUS);
  places->closed_file = map(page, MAP_PRIVATE, file);
  places->reserved = map(reserved_size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, PROT_NONE);
  places->sparse = map(sparse_size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  strcpy(places->shared, secret);
  const int status = children::wait_for(children::spawn(be_dumped));
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && WCOREDUMP(status));
  char program[PATH_MAX] = {};
  CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  const Core core{"core"};
  check_threads(core);
  check_process(core);
  check_files(core, program);
  check_memory(core);
  CHECK_EQ(unlink("core"), 0);
  CHECK_EQ(unlink("mapped"), 0);
  close(file);
}

// The filter is inherited. Without private memory no page of the stack is in the file.
void test_filter() {
  char text[32];
  const pid_t child = children::spawn([&] {
    limit_core(RLIM_INFINITY);
    CHECK(write_text("/proc/self/coredump_filter", "0x10\n"));
    return children::wait_for(children::spawn([&] {
             read_text("/proc/self/coredump_filter", text, sizeof text);
             CHECK(strcmp(text, "00000010\n") == 0);
             raise(SIGABRT);
             return 1;
           })) == (SIGABRT | 0x80)
               ? 0
               : 1;
  });
  children::expect_exit(child, 0);
  const Core core{"core"};
  CHECK(core.at(text) == nullptr);
  CHECK(core.at(data) == nullptr);
  CHECK_EQ(unlink("core"), 0);
}

// Many threads, some of them about to end, while others end by signals of their own.
void test_many_threads() {
  constexpr int threads = 12;
  const pid_t child = children::spawn([] {
    limit_core(RLIM_INFINITY);
    for (int i = 0; i < threads; ++i) {
      pthread_t thread;
      const auto body = [](void* number) -> void* {
        const auto own = reinterpret_cast<uintptr_t>(number);
        check_spin(static_cast<long>(own) * 10'000);
        if (own % 3 == 0) return nullptr;
        if (own > 6) __builtin_trap();
        for (;;) pause();
      };
      CHECK_EQ(pthread_create(&thread, nullptr, body, reinterpret_cast<void*>(static_cast<uintptr_t>(i))), 0);
    }
    for (;;) pause();
    return 1;
  });
  const int status = children::wait_for(child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL && WCOREDUMP(status));
  const Core core{"core"};
  unsigned count = 0;
  while (core.note<elf_prstatus>(NT_PRSTATUS, count) != nullptr) ++count;
  CHECK(count >= 2 && count <= threads + 1);
  CHECK_EQ(unlink("core"), 0);
}

void test_names() {
  CHECK(write_text(pattern_file, "dump.%e.%s.%%.%p"));
  char text[128];
  read_text(pattern_file, text, sizeof text);
  CHECK(strcmp(text, "dump.%e.%s.%%.%p\n") == 0);
  const pid_t child = children::spawn([] {
    limit_core(RLIM_INFINITY);
    prctl(PR_SET_NAME, "a/b");
    raise(SIGABRT);
    return 1;
  });
  CHECK(WCOREDUMP(children::wait_for(child)));
  snprintf(text, sizeof text, "dump.a!b.%d.%%.%d", SIGABRT, child);
  { const Core core{text}; }
  CHECK_EQ(unlink(text), 0);
  CHECK(write_text(pattern_file, "core\n"));
  CHECK(write_text(uses_pid_file, "1"));
  const pid_t second = children::spawn([] {
    limit_core(RLIM_INFINITY);
    raise(SIGABRT);
    return 1;
  });
  CHECK(WCOREDUMP(children::wait_for(second)));
  CHECK(write_text(uses_pid_file, "0"));
  snprintf(text, sizeof text, "core.%d", second);
  { const Core core{text}; }
  CHECK_EQ(unlink(text), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("coretest", argc, argv);
  char former[200], uses_pid[16];
  read_text(pattern_file, former, sizeof former);
  read_text(uses_pid_file, uses_pid, sizeof uses_pid);
  const bool usual = strcmp(former, "core\n") == 0 && strcmp(uses_pid, "0\n") == 0;
  const bool may_name = geteuid() == 0 && write_text(uses_pid_file, "0") && write_text(pattern_file, "core");
  char directory[] = "/tmp/coretestXXXXXX";
  CHECK(mkdtemp(directory) != nullptr);
  CHECK_EQ(chdir(directory), 0);
  if (usual || may_name) {
    test_which_signals();
    test_what_the_parent_hears();
    test_limit();
    test_files_that_are_there();
    test_contents();
    test_filter();
    for (long i = 0; i < 5 * check_effort; ++i) test_many_threads();
  }
  if (may_name) {
    test_names();
    CHECK(write_text(pattern_file, former));
    CHECK(write_text(uses_pid_file, uses_pid));
  }
  CHECK(!dumps(SIGABRT, 0));
  CHECK_EQ(rmdir(directory), 0);
  return check_done();
}
