// Programs that name an interpreter (PT_INTERP): a position-independent program and its interpreter are put together with
// the auxiliary vector that the interpreter needs; what is wrong with an interpreter comes back as the error that
// Linux gives while the old program is still there, and no damaged interpreter harms anyone but its own process.

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

namespace {

constexpr char program_path[] = "/tmp/interpretertest-program";
constexpr char interpreter_path[] = "/tmp/interpretertest-interpreter";

// Looks for its own base and the program's entry in the auxiliary vector, and jumps there when both are told:
//   exit(20) when AT_BASE is missing or 0.
constexpr unsigned char interpreter_code[] = {
    0x48, 0x8b, 0x0c, 0x24,              //         mov  (%rsp), %rcx        the number of arguments
    0x48, 0x8d, 0x5c, 0xcc, 0x10,        //         lea  16(%rsp,%rcx,8), %rbx   the environment
    0x48, 0x83, 0xc3, 0x08,              // 1:      add  $8, %rbx
    0x48, 0x83, 0x7b, 0xf8, 0x00,        //         cmpq $0, -8(%rbx)
    0x75, 0xf5,                          //         jne  1b
    0x31, 0xf6,                          //         xor  %esi, %esi          AT_BASE
    0x31, 0xd2,                          //         xor  %edx, %edx          AT_ENTRY
    0x48, 0x8b, 0x03,                    // 2:      mov  (%rbx), %rax
    0x48, 0x83, 0xf8, 0x07,              //         cmp  $7, %rax
    0x75, 0x04,                          //         jne  3f
    0x48, 0x8b, 0x73, 0x08,              //         mov  8(%rbx), %rsi
    0x48, 0x83, 0xf8, 0x09,              // 3:      cmp  $9, %rax
    0x75, 0x04,                          //         jne  4f
    0x48, 0x8b, 0x53, 0x08,              //         mov  8(%rbx), %rdx
    0x48, 0x83, 0xc3, 0x10,              // 4:      add  $16, %rbx
    0x48, 0x85, 0xc0,                    //         test %rax, %rax
    0x75, 0xe0,                          //         jne  2b
    0x48, 0x85, 0xf6,                    //         test %rsi, %rsi
    0x74, 0x02,                          //         je   5f
    0xff, 0xe2,                          //         jmp  *%rdx
    0xb8, 0x3c, 0x00, 0x00, 0x00,        // 5:      mov  $60, %eax
    0xbf, 0x14, 0x00, 0x00, 0x00,        //         mov  $20, %edi
    0x0f, 0x05,                          //         syscall
};
// exit(7)
constexpr unsigned char program_code[] = {0xb8, 60, 0, 0, 0, 0xbf, 7, 0, 0, 0, 0x0f, 0x05};

struct Interpreter {
  Elf64_Ehdr header{};
  Elf64_Phdr load{};
  unsigned char code[sizeof interpreter_code]{};
};

struct Program {
  Elf64_Ehdr header{};
  Elf64_Phdr interpreter{}, load{};
  unsigned char code[16]{};
  char name[64]{};
};

void start_header(Elf64_Ehdr& header, uint16_t programs, uint64_t entry) {
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_entry = entry;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = programs;
}

Elf64_Phdr loading(uint64_t size) {
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_flags = PF_R | PF_X;
  load.p_filesz = load.p_memsz = size;
  load.p_align = 4096;
  return load;
}

Interpreter good_interpreter() {
  Interpreter file;
  start_header(file.header, 1, offsetof(Interpreter, code));
  file.load = loading(sizeof file);
  memcpy(file.code, interpreter_code, sizeof interpreter_code);
  return file;
}

Program program_with(const char* interpreter) {
  Program file;
  start_header(file.header, 2, offsetof(Program, code));
  file.load = loading(sizeof file);
  memcpy(file.code, program_code, sizeof program_code);
  strcpy(file.name, interpreter);
  file.interpreter.p_type = PT_INTERP;
  file.interpreter.p_flags = PF_R;
  file.interpreter.p_offset = offsetof(Program, name);
  file.interpreter.p_filesz = file.interpreter.p_memsz = strlen(interpreter) + 1;
  return file;
}

void write_file(const char* path, const void* bytes, size_t size, mode_t mode = 0755) {
  (void)unlink(path);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  CHECK(fd >= 0);
  CHECK_EQ(write(fd, bytes, size), static_cast<ssize_t>(size));
  CHECK_EQ(close(fd), 0);
}

// What became of a child that executes the program: its exit status; 1000 and the errno when execve refused; 2000
// and the signal.
int execute() {
  static volatile int refusal;  // the child of vfork writes it
  refusal = 0;
  const pid_t child = vfork();
  if (child == 0) {
    char* const arguments[] = {const_cast<char*>("program"), const_cast<char*>("argument"), nullptr};
    char* const environment[] = {const_cast<char*>("A=1"), const_cast<char*>("B=2"), nullptr};
    execve(program_path, arguments, environment);
    refusal = errno;
    _exit(100);
  }
  CHECK(child > 0);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  if (refusal != 0) return 1000 + refusal;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2000 + WTERMSIG(status);
}

constexpr int refused(int error) {
  return 1000 + error;
}

void test_program_and_interpreter_meet() {
  const Interpreter interpreter = good_interpreter();
  write_file(interpreter_path, &interpreter, sizeof interpreter);
  const Program program = program_with(interpreter_path);
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), 7);
}

void test_an_interpreter_at_a_fixed_address() {
  Interpreter fixed = good_interpreter();
  constexpr uint64_t base = 0x1000'0000;
  fixed.header.e_type = ET_EXEC;
  fixed.header.e_entry += base;
  fixed.load.p_vaddr = base;
  write_file(interpreter_path, &fixed, sizeof fixed);
  CHECK_EQ(execute(), 20);  // its base is 0, so AT_BASE is
}

void test_names() {
  Program program = program_with("/tmp/interpretertest-missing");
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(ENOENT));
  program = program_with("/tmp");
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(EACCES));
  program = program_with("/dev/null/x");
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(ENOTDIR));

  program = program_with(interpreter_path);
  --program.interpreter.p_filesz;  // without its final zero
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(ENOEXEC));
  program.interpreter.p_filesz = 1;
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(ENOEXEC));
  program.interpreter.p_filesz = 4097;
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(ENOEXEC));
  program = program_with(interpreter_path);
  program.interpreter.p_offset = 1u << 20;  // beyond the end
  write_file(program_path, &program, sizeof program);
  CHECK_EQ(execute(), refused(EIO));
}

void expect(const void* bytes, size_t size, int outcome, mode_t mode = 0755) {
  write_file(interpreter_path, bytes, size, mode);
  CHECK_EQ(execute(), outcome);
}

void test_damaged_interpreters() {
  const Program program = program_with(interpreter_path);
  write_file(program_path, &program, sizeof program);
  const Interpreter good = good_interpreter();

  expect(&good, sizeof good, refused(EACCES), 0644);
  expect(&good, 0, refused(EIO));
  expect(&good, 20, refused(EIO));
  expect(&good, sizeof good.header - 1, refused(EIO));
  const char script[] = "#!/bin/sh\nexit 3\nand enough bytes that it could be the header of an ELF file, which it is not\n";
  expect(script, sizeof script, refused(ELIBBAD));
  Interpreter bad = good;
  bad.header.e_ident[1] = 'F';
  expect(&bad, sizeof bad, refused(ELIBBAD));
  bad = good;
  bad.header.e_machine = EM_AARCH64;
  expect(&bad, sizeof bad, refused(ELIBBAD));
  bad = good;
  bad.header.e_phentsize = 40;
  expect(&bad, sizeof bad, refused(ELIBBAD));
  bad = good;
  bad.header.e_phnum = 0;
  expect(&bad, sizeof bad, refused(ELIBBAD));
  expect(&good, sizeof good.header + 20, refused(ELIBBAD));  // the program headers are cut off
}

// Damage that Linux finds only when the old program is gone: it ends the process by a signal. Where nothing has been
// given up yet an error does as well. In no case does the program run.
void expect_no_run(const void* bytes, size_t size) {
  write_file(interpreter_path, bytes, size);
  const int outcome = execute();
  CHECK(outcome >= 1000);
}

void test_interpreters_that_cannot_run() {
  const Interpreter good = good_interpreter();
  Interpreter bad = good;
  bad.header.e_type = ET_REL;
  expect_no_run(&bad, sizeof bad);
  bad = good;
  bad.load.p_filesz = bad.load.p_memsz + 4096;
  expect_no_run(&bad, sizeof bad);
  bad = good;
  bad.load.p_vaddr = 0x7fff'ffff'f000;
  bad.load.p_memsz = 1u << 20;
  expect_no_run(&bad, sizeof bad);
  bad = good;
  bad.load.p_type = PT_NOTE;  // nothing to load
  expect_no_run(&bad, sizeof bad);
  bad = good;
  bad.load.p_flags = PF_R;  // its code may not be executed
  expect_no_run(&bad, sizeof bad);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("interpretertest", argc, argv);
  test_program_and_interpreter_meet();
  test_names();
  test_damaged_interpreters();
  test_interpreters_that_cannot_run();
  const Program program = program_with(interpreter_path);
  write_file(program_path, &program, sizeof program);
  test_an_interpreter_at_a_fixed_address();
  CHECK_EQ(unlink(program_path), 0);
  CHECK_EQ(unlink(interpreter_path), 0);
  return check_done();
}
