// mandelbrot: the Mandelbrot set, one pixel at a time from a shared worklist, as a benchmark of threads.
//
// Any number of threads take the next pixel by fetch-and-add on one counter until none is left; nothing else is
// shared, so that time measures the system's threads and not a protocol of ours. The picture, and with it the
// checksum, does not depend on the number of threads or on their order.
//   draw mode   every finished pixel appears as a coloured "*" at its place, by one write
//   array mode  no output until the end, so that only computing is measured
// compute_ms runs from the first thread's start of computing to the last one's end; total_ms also has the creating
// and joining of the threads. Static, so that the identical file runs on Linux and Corral.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { max_threads = 256, max_side = 8192, max_iterations = 1000000000, max_repeat = 1000000, cache_line = 64 };

// The part of the complex plane that is shown, in quarters so that fixed point has it exactly.
enum { left_quarters = -10, width_quarters = 14, bottom_quarters = -5, height_quarters = 10 };

// Fixed point: 28 bits after the point. Before a step |z|² ≤ 4, so that no part passes 6 after it and no square 36:
// 36 · 2^56 fits in 63 bits.
enum { fraction_bits = 28 };
static const int64_t fixed_one = (int64_t)1 << fraction_bits;

struct options {
  int threads;
  int width;
  int height;
  int iterations;
  int repeat;
  bool draw;
  bool use_double;
  bool pin;
};

struct worker {
  pthread_t thread;
  int core;  // to run on, or -1
  int64_t started_ns;
  int64_t finished_ns;
} __attribute__((aligned(cache_line)));

static struct options options = {.threads = 1, .width = 80, .height = 25, .iterations = 10000, .repeat = 1, .draw = true};
static struct worker workers[max_threads];
static uint32_t* picture;

// The worklist: the number of the next pixel that nobody has taken. Alone on its cache line.
static struct {
  int next;
} __attribute__((aligned(cache_line))) worklist;

static const char usage[] =
    "usage: mandelbrot [THREADS] [--mode draw|array] [--arithmetic fixed|double] [--size WxH] [--iterations N]\n"
    "                  [--repeat N] [--pin]\n"
    "  THREADS       1 to 256 (default 1)\n"
    "  --mode        draw: coloured picture (default); array: compute only\n"
    "  --arithmetic  fixed (default) or double\n"
    "  --size        pixels, such as 80x25 (default), up to 8192x8192\n"
    "  --iterations  at most this many per pixel (default 10000)\n"
    "  --repeat      run this many times, one line each (default 1)\n"
    "  --pin         fix each thread to a core, in turn\n";

static _Noreturn __attribute__((format(printf, 1, 2))) void usage_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("mandelbrot: ", stderr);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n%s", usage);
  va_end(arguments);
  exit(2);
}

static _Noreturn void system_error(const char* what, int error) {
  fprintf(stderr, "mandelbrot: %s: %s\n", what, strerror(error));
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint32_t iterate_fixed(int x, int y) {
  const int64_t c_real = (left_quarters * fixed_one + width_quarters * fixed_one * (2 * x + 1) / (2 * options.width)) / 4;
  const int64_t c_imaginary =
      (bottom_quarters * fixed_one + height_quarters * fixed_one * (2 * y + 1) / (2 * options.height)) / 4;
  const uint32_t limit = (uint32_t)options.iterations;
  int64_t real = 0;
  int64_t imaginary = 0;
  uint32_t count = 0;
  while (count < limit) {
    const int64_t real_square = (real * real) >> fraction_bits;
    const int64_t imaginary_square = (imaginary * imaginary) >> fraction_bits;
    if (real_square + imaginary_square > 4 * fixed_one) { break; }
    imaginary = ((real * imaginary) >> (fraction_bits - 1)) + c_imaginary;
    real = real_square - imaginary_square + c_real;
    ++count;
  }
  return count;
}

static uint32_t iterate_double(int x, int y) {
  const double c_real = left_quarters / 4.0 + width_quarters / 4.0 * (x + 0.5) / options.width;
  const double c_imaginary = bottom_quarters / 4.0 + height_quarters / 4.0 * (y + 0.5) / options.height;
  const uint32_t limit = (uint32_t)options.iterations;
  double real = 0;
  double imaginary = 0;
  uint32_t count = 0;
  while (count < limit) {
    const double real_square = real * real;
    const double imaginary_square = imaginary * imaginary;
    if (real_square + imaginary_square > 4.0) { break; }
    imaginary = 2.0 * real * imaginary + c_imaginary;
    real = real_square - imaginary_square + c_real;
    ++count;
  }
  return count;
}

// Grey for the set itself; outside, a colour by the number of iterations until escape.
static const char* colour_of(uint32_t count) {
  static const char* const colours[] = {"0;34", "1;34", "0;36", "1;36", "0;32", "1;32",
                                        "0;33", "1;33", "0;31", "1;31", "0;35", "1;35"};
  const uint32_t colour_count = sizeof colours / sizeof colours[0];
  if (count >= (uint32_t)options.iterations) { return "1;30"; }
  return colours[count % colour_count];
}

// One write for one pixel, so that the places of several threads cannot mix.
static void draw_pixel(int x, int y, uint32_t count) {
  char text[48];
  const int length = snprintf(text, sizeof text, "\033[%d;%dH\033[%sm*", y + 1, x + 1, colour_of(count));
  if (write(STDOUT_FILENO, text, (size_t)length) != length) { system_error("cannot draw", errno); }
}

static void* compute(void* argument) {
  struct worker* self = argument;
  if (self->core >= 0) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(self->core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) { system_error("cannot pin a thread", errno); }
  }
  self->started_ns = now_ns();
  const int width = options.width;
  const int pixels = width * options.height;
  const bool use_double = options.use_double;
  const bool draw = options.draw;
  for (;;) {
    const int pixel = __atomic_fetch_add(&worklist.next, 1, __ATOMIC_RELAXED);
    if (pixel >= pixels) { break; }
    const int x = pixel % width;
    const int y = pixel / width;
    const uint32_t count = use_double ? iterate_double(x, y) : iterate_fixed(x, y);
    picture[pixel] = count;
    if (draw) { draw_pixel(x, y, count); }
  }
  self->finished_ns = now_ns();
  return NULL;
}

// FNV-1a over the iteration counts in the order of the picture.
static uint64_t checksum(void) {
  uint64_t hash = 0xcbf29ce484222325u;
  const int pixels = options.width * options.height;
  for (int pixel = 0; pixel < pixels; ++pixel) {
    for (int byte = 0; byte < 4; ++byte) { hash = (hash ^ ((picture[pixel] >> (8 * byte)) & 0xff)) * 0x100000001b3u; }
  }
  return hash;
}

static void assign_cores(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) { system_error("cannot find the cores to pin to", errno); }
  int core = -1;
  for (int thread = 0; thread < options.threads; ++thread) {
    do { core = (core + 1) % CPU_SETSIZE; } while (!CPU_ISSET(core, &allowed));
    workers[thread].core = core;
  }
}

static void run_once(void) {
  const size_t size = (size_t)options.width * (size_t)options.height * sizeof picture[0];
  memset(picture, 0, size);  // also makes the pages present, so that no thread pays for it
  worklist.next = 0;
  if (options.draw) {
    static const char clear[] = "\033[0m\033[2J\033[H";
    if (write(STDOUT_FILENO, clear, sizeof clear - 1) < 0) { system_error("cannot draw", errno); }
  }

  const int64_t begin_ns = now_ns();
  for (int thread = 0; thread < options.threads; ++thread) {
    const int error = pthread_create(&workers[thread].thread, NULL, compute, &workers[thread]);
    if (error != 0) { system_error("cannot create a thread", error); }
  }
  for (int thread = 0; thread < options.threads; ++thread) {
    const int error = pthread_join(workers[thread].thread, NULL);
    if (error != 0) { system_error("cannot join a thread", error); }
  }
  const int64_t end_ns = now_ns();

  int64_t first_ns = workers[0].started_ns;
  int64_t last_ns = workers[0].finished_ns;
  for (int thread = 1; thread < options.threads; ++thread) {
    if (workers[thread].started_ns < first_ns) { first_ns = workers[thread].started_ns; }
    if (workers[thread].finished_ns > last_ns) { last_ns = workers[thread].finished_ns; }
  }
  if (options.draw) { printf("\033[0m\033[%d;1H\n", options.height); }
  printf(
      "mandelbrot: threads=%d size=%dx%d iterations=%d arithmetic=%s compute_ms=%.3f total_ms=%.3f "
      "checksum=%016llx\n",
      options.threads, options.width, options.height, options.iterations, options.use_double ? "double" : "fixed",
      (double)(last_ns - first_ns) / 1e6, (double)(end_ns - begin_ns) / 1e6, (unsigned long long)checksum());
  fflush(stdout);
}

// A whole decimal number from 1 to limit, up to the end of text or to *end if given; 0 if it is none.
static int number(const char* text, int limit, const char** end) {
  long value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + (*at - '0');
    if (value > limit) { return 0; }
  }
  if (at == text || (end == NULL && *at != '\0')) { return 0; }
  if (end != NULL) { *end = at; }
  return (int)value;
}

static void parse_size(const char* text) {
  const char* rest = NULL;
  options.width = number(text, max_side, &rest);
  options.height = options.width > 0 && (*rest == 'x' || *rest == 'X') ? number(rest + 1, max_side, NULL) : 0;
  if (options.height == 0) { usage_error("--size: \"%s\" is not WxH with sides from 1 to %d, such as 80x25", text, max_side); }
}

// Which of two words text is: 0 or 1.
static int choice(const char* option, const char* text, const char* first, const char* second) {
  if (strcmp(text, first) == 0) { return 0; }
  if (strcmp(text, second) == 0) { return 1; }
  usage_error("%s: \"%s\" is neither %s nor %s", option, text, first, second);
}

static void parse(int argc, char** argv) {
  bool have_threads = false;
  for (int index = 1; index < argc; ++index) {
    char* argument = argv[index];
    if (argument[0] != '-') {
      options.threads = number(argument, max_threads, NULL);
      if (options.threads == 0 || have_threads) {
        usage_error(have_threads ? "\"%s\": the number of threads was already given"
                                 : "\"%s\" is not a number of threads from 1 to 256",
                    argument);
      }
      have_threads = true;
      continue;
    }
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
      fputs(usage, stdout);
      exit(0);
    }
    if (strcmp(argument, "--pin") == 0) {
      options.pin = true;
      continue;
    }
    static const char* const with_value[] = {"--mode", "--arithmetic", "--size", "--iterations", "--repeat"};
    int option = -1;
    const char* value = NULL;
    for (int which = 0; which < 5; ++which) {
      const size_t length = strlen(with_value[which]);
      if (strncmp(argument, with_value[which], length) != 0) { continue; }
      if (argument[length] == '=') {
        option = which;
        value = argument + length + 1;
      } else if (argument[length] == '\0') {
        option = which;
        value = ++index < argc ? argv[index] : NULL;
      }
    }
    if (option < 0) { usage_error("unknown option %s", argument); }
    if (value == NULL) { usage_error("%s needs a value", with_value[option]); }
    switch (option) {
      case 0: options.draw = choice("--mode", value, "draw", "array") == 0; break;
      case 1: options.use_double = choice("--arithmetic", value, "fixed", "double") == 1; break;
      case 2: parse_size(value); break;
      case 3: options.iterations = number(value, max_iterations, NULL); break;
      default: options.repeat = number(value, max_repeat, NULL); break;
    }
    if (options.iterations == 0 || options.repeat == 0) {
      usage_error("%s: \"%s\" is not a number from 1 to %d", with_value[option], value,
                  option == 3 ? (int)max_iterations : (int)max_repeat);
    }
  }
}

int main(int argc, char** argv) {
  parse(argc, argv);
  for (int thread = 0; thread < options.threads; ++thread) { workers[thread].core = -1; }
  if (options.pin) { assign_cores(); }
  picture = malloc((size_t)options.width * (size_t)options.height * sizeof picture[0]);
  if (picture == NULL) { system_error("cannot hold the picture", errno); }
  for (int run = 0; run < options.repeat; ++run) { run_once(); }
  return 0;
}
