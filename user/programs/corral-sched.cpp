// corral-sched: shows the scheduling policies of the running kernel, and chooses others. docs/scheduling.md.
//
//   corral-sched                          what is chosen, and what each core does
//   corral-sched list [KIND [POLICY]]     which policies there are, with their tunables
//   corral-sched KIND POLICY[:TUNABLE=VALUE,...] [cores LIST]
//                                         chooses one: while everything runs, from now on
//
// It knows no policy and no kind: all comes from /proc/sched and /proc/sched-policies. Exit status: 0; 1: the kernel refused,
// its reason is printed and nothing has changed; 2: wrong use; 3: this kernel is not Corral, or does not let the caller.

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr int refused = 1, wrong_use = 2, not_possible = 3;
const char state_file[] = "/proc/sched";
const char policies_file[] = "/proc/sched-policies";

// A text of lines, cut into them.
struct Text {
  char* bytes = nullptr;  // until the program ends
  size_t next = 0;

  void read_from(int file, const char* name) {
    size_t size = 0;
    size_t room = 0;
    for (;;) {
      if (room - size < 2) {
        room = room == 0 ? 1 << 15 : 2 * room;
        bytes = static_cast<char*>(realloc(bytes, room));
        if (bytes == nullptr) {
          fputs("corral-sched: there is not enough memory\n", stderr);
          exit(not_possible);
        }
      }
      const ssize_t now = read(file, bytes + size, room - 1 - size);
      if (now < 0) {
        fprintf(stderr, "corral-sched: %s: %s\n", name, strerror(errno));
        exit(not_possible);
      }
      if (now == 0) break;
      size += static_cast<size_t>(now);
    }
    bytes[size] = 0;
  }
  // The next line, null at the end.
  char* line() {
    if (bytes[next] == 0) return nullptr;
    char* begin = bytes + next;
    char* end = strchr(begin, '\n');
    next += static_cast<size_t>(end != nullptr ? end - begin + 1 : static_cast<ptrdiff_t>(strlen(begin)));
    if (end != nullptr) *end = 0;
    return begin;
  }
};

int open_or_leave(const char* name, int flags) {
  const int file = open(name, flags | O_CLOEXEC);
  if (file >= 0) return file;
  fprintf(stderr, "corral-sched: %s: %s\n", name, strerror(errno));
  fputs(errno == ENOENT ? "  This kernel is not Corral.\n" : errno == EACCES ? "  Only root chooses policies.\n" : "", stderr);
  exit(not_possible);
}

void take(Text& text, const char* name) {
  const int file = open_or_leave(name, O_RDONLY);
  text.read_from(file, name);
  close(file);
}

// "KIND NAME: REST": the first two, cut off; null: `line` is no such line.
char* cut_head(char* line, const char*& kind, const char*& name) {
  char* gap = strchr(line, ' ');
  char* colon = strstr(line, ": ");
  if (gap == nullptr || colon == nullptr || gap == line || gap > colon) return nullptr;
  *gap = *colon = 0;
  kind = line;
  name = gap + 1;
  return colon + 2;
}

// What is chosen of a kind: "KIND NAME: ..." in /proc/sched. "": no such kind.
void find_chosen(const char* kind, char* to, size_t size) {
  static Text state;
  static bool taken = false;
  static char* lines[512];
  static size_t count = 0;
  if (!taken) {
    take(state, state_file);
    for (char* line = state.line(); line != nullptr && count < 512; line = state.line()) lines[count++] = line;
    taken = true;
  }
  *to = 0;
  const size_t length = strlen(kind);
  for (size_t i = 0; i < count; ++i) {
    if (strncmp(lines[i], kind, length) != 0 || lines[i][length] != ' ') continue;
    const char* name = lines[i] + length + 1;
    const char* colon = strchr(name, ':');
    if (colon == nullptr || colon[1] != ' ') continue;
    snprintf(to, size, "%.*s", static_cast<int>(colon - name), name);
    return;
  }
}

int show() {
  static Text text;
  take(text, state_file);
  for (const char* line = text.line(); line != nullptr; line = text.line()) puts(line);
  return 0;
}

// Prints those of a kind and name; null: all. How many there were.
int list(const char* wanted_kind, const char* wanted_name) {
  static Text text;
  take(text, policies_file);
  char last_kind[32] = "";
  bool shown = false;
  int found = 0;
  for (char* line = text.line(); line != nullptr; line = text.line()) {
    if (*line == ' ') {
      if (shown) printf("      %s\n", line + 2);
      continue;
    }
    const char *kind = nullptr, *name = nullptr;
    const char* description = cut_head(line, kind, name);
    shown = description != nullptr && (wanted_kind == nullptr || strcmp(kind, wanted_kind) == 0) &&
            (wanted_name == nullptr || strcmp(name, wanted_name) == 0);
    if (!shown) continue;
    ++found;
    if (strcmp(kind, last_kind) != 0) printf("%s%s\n", *last_kind != 0 ? "\n" : "", kind);
    snprintf(last_kind, sizeof last_kind, "%s", kind);
    char chosen[64];
    find_chosen(kind, chosen, sizeof chosen);
    printf("  %c %-16s %s\n", strcmp(chosen, name) == 0 ? '*' : ' ', name, description);
  }
  return found;
}

void print_kinds(FILE* to) {
  static Text text;
  take(text, policies_file);
  char last[32] = "";
  for (char* line = text.line(); line != nullptr; line = text.line()) {
    const char *kind = nullptr, *name = nullptr;
    if (*line == ' ' || cut_head(line, kind, name) == nullptr || strcmp(kind, last) == 0) continue;
    fprintf(to, "%s%s", *last != 0 ? ", " : "", kind);
    snprintf(last, sizeof last, "%s", kind);
  }
  fputc('\n', to);
}

int usage(FILE* to) {
  fputs(
      "usage: corral-sched                        what is chosen, and what each core does\n"
      "       corral-sched list [KIND [POLICY]]   which policies there are, with their tunables\n"
      "       corral-sched KIND POLICY[:TUNABLE=VALUE,...] [cores LIST]   choose one\n"
      "KIND is one of: ",
      to);
  print_kinds(to);
  return to == stdout ? 0 : wrong_use;
}

int choose(int count, char** words) {
  char text[256];
  size_t size = 0;
  for (int i = 0; i < count; ++i) {
    const int more = snprintf(text + size, sizeof text - size, "%s%s", i == 0 ? "" : " ", words[i]);
    size += static_cast<size_t>(more);
    if (size >= sizeof text) {
      fputs("corral-sched: that is too long\n", stderr);
      return wrong_use;
    }
  }
  const int file = open_or_leave(state_file, O_RDWR);
  if (write(file, text, size) == static_cast<ssize_t>(size)) return 0;
  const int error = errno;
  static Text why;
  why.read_from(file, state_file);  // after a refusal the reason stands there
  fprintf(stderr, "corral-sched: %s: refused: %s", text, *why.bytes != 0 ? why.bytes : strerror(error));
  fprintf(stderr, "%s  Nothing has changed.%s\n", *why.bytes != 0 ? "" : "\n",
          error == EBUSY ? "" : " What there is to choose: corral-sched list");
  return refused;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return show();
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return usage(stdout);
  if (strcmp(argv[1], "list") == 0 && argc <= 4) {
    if (list(argc > 2 ? argv[2] : nullptr, argc > 3 ? argv[3] : nullptr) > 0) return 0;
    fprintf(stderr, "corral-sched: there is no such policy\n");
    return usage(stderr);
  }
  if (argc != 3 && argc != 5) return usage(stderr);
  return choose(argc - 1, argv + 1);
}
