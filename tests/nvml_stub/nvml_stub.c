/* A libnvidia-ml.so.1 for tests: eight idle H100s until a state file says otherwise.
 *
 *   gcc -shared -fPIC -O1 -Wall -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 nvml_stub.c
 *   LD_LIBRARY_PATH=<its folder> FAKE_NVML_STATE=<file> python ...      (both set before the process starts)
 *
 * Own code, no NVIDIA headers: only the layout of the structures that the Python binding passes is repeated. The
 * default numbers are those of a real idle H100 (driver 580.159.04). The state file is read again whenever it
 * changes, so a test can break a GPU under a running program. Its lines are
 *
 *   GPU KEY VALUE [MORE]         GPU is 0..15, or * for all of them and for the library
 *
 *   * count N          GPUs that the driver lists (0..16)   * init CODE       what nvmlInit returns
 *   * driver TEXT      driver version                        * init_ms N       how long nvmlInit takes
 *   * listing CODE     what nvmlDeviceGetCount returns       * trace 1         append each call to <state file>.calls
 *   G lost 1           every call says GPU_IS_LOST           G refuse CODE     the handle is not given (15 lost, 4 denied)
 *   G deny WHAT [CODE] one call is refused, with NOT_SUPPORTED unless CODE says otherwise; WHAT is name, pci, cc,
 *                      mem, mem2, util, power, limit, temp, clock, reasons, mig, procs, graphics
 *   G pid N [MIB [GI]] a compute process, of GPU instance GI under MIG (the first is 7); repeat the line for more
 *   G mig N            MIG is on, with N instances of 10 GiB
 *   G slow_ms N        every call for this GPU sleeps so long first
 *   G util P, mem MIB, total MIB, power W, limit W, temp C, clock MHZ, reasons MASK     values
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define GPUS 16
#define LISTED 8 /* unless `count` says otherwise */
#define SLICES 7
#define MIB (1ULL << 20)

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NO_FUNCTION = 13,
       LOST = 15, WRONG_VERSION = 25 };

typedef struct device { int index, slot; } *device_t; /* slot: -1 for the GPU itself, else a MIG instance of it */
static struct device gpus[GPUS], slices[GPUS][SLICES];
static int initialized;

/* ---- the state file ------------------------------------------------------------------------------------------- */

struct setting { char gpu[8], key[16], value[64], more[24]; };
static struct setting settings[1024];
static int setting_count;

static void sleep_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  if (ms > 0) nanosleep(&time, 0);
}

static void read_state(void) {
  static struct timespec seen;
  static ino_t inode;
  const char *path = getenv("FAKE_NVML_STATE");
  struct stat now;
  char line[256];
  if (!path || stat(path, &now)) { setting_count = 0; return; }
  if (now.st_ino == inode && now.st_mtim.tv_sec == seen.tv_sec && now.st_mtim.tv_nsec == seen.tv_nsec) return;
  FILE *file = fopen(path, "re");
  if (!file) return;
  inode = now.st_ino, seen = now.st_mtim, setting_count = 0;
  while (setting_count < 1024 && fgets(line, sizeof line, file)) {
    struct setting *s = &settings[setting_count];
    s->more[0] = 0;
    if (sscanf(line, "%7s %15s %63s %23[^\n]", s->gpu, s->key, s->value, s->more) >= 3) setting_count++;
  }
  fclose(file);
}

static int concerns(const struct setting *s, int gpu, const char *key) {
  return !strcmp(s->key, key) && (s->gpu[0] == '*' || atoi(s->gpu) == gpu);
}

static const char *text(int gpu, const char *key, const char *otherwise) {
  read_state();
  for (int i = setting_count - 1; i >= 0; i--)
    if (concerns(&settings[i], gpu, key)) return settings[i].value;
  return otherwise;
}

static long long value(int gpu, const char *key, long long otherwise) {
  const char *found = text(gpu, key, 0);
  return found ? strtoll(found, 0, 0) : otherwise;
}

static void trace(const char *call) {
  const char *path = getenv("FAKE_NVML_STATE");
  char name[4096];
  if (!path || !value(-1, "trace", 0)) return;
  snprintf(name, sizeof name, "%s.calls", path);
  FILE *file = fopen(name, "ae");
  if (file) { fprintf(file, "%s\n", call); fclose(file); }
}

static int is_slice(device_t d) { return d->slot >= 0; }

/* Whether a call about `what` succeeds for this device now. */
static int answer(device_t d, const char *what, const char *call) {
  trace(call);
  if (!initialized) return UNINITIALIZED;
  if (!d || d->index < 0 || d->index >= GPUS) return INVALID;
  sleep_ms(value(d->index, "slow_ms", 0));
  if (value(d->index, "lost", 0)) return LOST;
  for (int i = setting_count - 1; i >= 0; i--)
    if (concerns(&settings[i], d->index, "deny") && !strcmp(settings[i].value, what))
      return settings[i].more[0] ? atoi(settings[i].more) : NOT_SUPPORTED;
  /* As the real driver: no utilisation of a GPU in MIG mode, and little about an instance. */
  if (!strcmp(what, "util") && value(d->index, "mig", 0)) return NOT_SUPPORTED;
  if (is_slice(d) && !strstr(" name uuid mem mem2 bar1 procs graphics instance mode ", what)) return NOT_SUPPORTED;
  return OK;
}

#define ASK(device, what) do { int refused = answer(device, what, __func__); if (refused) return refused; } while (0)
#define UP() do { trace(__func__); if (!initialized) return UNINITIALIZED; } while (0)

static int copy(char *to, unsigned size, const char *from) {
  if (strlen(from) >= size) return TOO_SMALL;
  strcpy(to, from);
  return OK;
}

/* ---- the library ---------------------------------------------------------------------------------------------- */

API int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  trace(__func__);
  sleep_ms(value(-1, "init_ms", 0));
  int refused = value(-1, "init", 0);
  if (refused) return refused;
  for (int i = 0; i < GPUS; i++) {
    gpus[i] = (struct device){i, -1};
    for (int k = 0; k < SLICES; k++) slices[i][k] = (struct device){i, k};
  }
  initialized = 1;
  return OK;
}
API int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
API int nvmlInit(void) { return nvmlInitWithFlags(0); }
API int nvmlShutdown(void) { UP(); initialized = 0; return OK; }
API const char *nvmlErrorString(int code) { (void)code; return "an error that only the driver knows"; }
API int nvmlSystemGetDriverVersion(char *to, unsigned size) { UP(); return copy(to, size, text(-1, "driver", "580.159.04")); }
API int nvmlSystemGetNVMLVersion(char *to, unsigned size) { UP(); return copy(to, size, "13.580.159.04"); }
API int nvmlSystemGetCudaDriverVersion(int *version) { UP(); *version = 13000; return OK; }
API int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

/* ---- which GPUs there are ------------------------------------------------------------------------------------- */

API int nvmlDeviceGetCount_v2(unsigned *count) {
  UP();
  int refused = value(-1, "listing", 0);
  if (refused) return refused;
  *count = value(-1, "count", LISTED);
  return OK;
}
API int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *device) {
  UP();
  if (index >= (unsigned)value(-1, "count", LISTED) || index >= GPUS) return INVALID;
  int refused = value(index, "refuse", 0);
  if (refused) return refused;
  *device = &gpus[index];
  return OK;
}
API int nvmlDeviceGetHandleByIndex(unsigned index, device_t *device) { return nvmlDeviceGetHandleByIndex_v2(index, device); }
API int nvmlDeviceGetIndex(device_t d, unsigned *index) { UP(); *index = is_slice(d) ? d->slot : d->index; return OK; }

static void write_uuid(device_t d, char *to) {
  if (is_slice(d)) sprintf(to, "MIG-%08d-0000-4000-8000-%012d", d->index, d->slot);
  else sprintf(to, "GPU-00000000-0000-4000-8000-%012d", d->index);
}
API int nvmlDeviceGetUUID(device_t d, char *to, unsigned size) {
  char found[64];
  ASK(d, "uuid");
  write_uuid(d, found);
  return copy(to, size, found);
}
API int nvmlDeviceGetHandleByUUID(const char *uuid, device_t *device) {
  char found[64];
  UP();
  for (int i = 0; i < GPUS; i++) {
    write_uuid(&gpus[i], found);
    if (!strcmp(found, uuid)) { *device = &gpus[i]; return OK; }
  }
  return NOT_FOUND;
}
API int nvmlDeviceGetName(device_t d, char *to, unsigned size) {
  ASK(d, "name");
  return copy(to, size, is_slice(d) ? "NVIDIA H100 80GB HBM3 MIG 1g.10gb" : "NVIDIA H100 80GB HBM3");
}
API int nvmlDeviceGetSerial(device_t d, char *to, unsigned size) { (void)to; (void)size; ASK(d, "serial"); return NOT_SUPPORTED; }

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; };
API int nvmlDeviceGetPciInfo_v3(device_t d, struct pci *to) {
  ASK(d, "pci");
  memset(to, 0, sizeof *to);
  to->bus = 0x10 + d->index, to->id = 0x233010de;
  sprintf(to->address, "00000000:%02X:00.0", to->bus & 0xffu);
  sprintf(to->legacy, "0000:%02X:00.0", to->bus & 0xffu);
  return OK;
}
API int nvmlDeviceGetPciInfo(device_t d, struct pci *to) { return nvmlDeviceGetPciInfo_v3(d, to); }
API int nvmlDeviceGetCudaComputeCapability(device_t d, int *major, int *minor) { ASK(d, "cc"); *major = 9, *minor = 0; return OK; }

/* ---- numbers -------------------------------------------------------------------------------------------------- */

struct memory { uint64_t total, free, used; };
struct memory2 { unsigned version; uint64_t total, reserved, free, used; };

/* `mem` is what programs hold; the driver's own 480 MiB come on top, as on a real idle H100. */
static void memory_of(device_t d, struct memory2 *to) {
  to->reserved = is_slice(d) ? 0 : 480 * MIB;
  to->total = is_slice(d) ? 10240 * MIB : (uint64_t)value(d->index, "total", 81559) * MIB;
  to->used = is_slice(d) ? 0 : (uint64_t)value(d->index, "mem", 0) * MIB;
  to->free = to->total - to->reserved - to->used;
}
API int nvmlDeviceGetMemoryInfo(device_t d, struct memory *to) {
  struct memory2 all;
  ASK(d, "mem");
  memory_of(d, &all);
  *to = (struct memory){all.total, all.free, all.total - all.free};
  return OK;
}
API int nvmlDeviceGetMemoryInfo_v2(device_t d, struct memory2 *to) {
  ASK(d, "mem2");
  ASK(d, "mem");
  if (to->version != (sizeof *to | 2 << 24)) return WRONG_VERSION;
  memory_of(d, to);
  return OK;
}
API int nvmlDeviceGetBAR1MemoryInfo(device_t d, struct memory *to) { ASK(d, "bar1"); *to = (struct memory){131072 * MIB, 131071 * MIB, MIB}; return OK; }

struct utilization { unsigned gpu, memory; };
API int nvmlDeviceGetUtilizationRates(device_t d, struct utilization *to) {
  ASK(d, "util");
  to->gpu = to->memory = (unsigned)value(d->index, "util", 0);
  return OK;
}

#define NUMBER(function, what, expression) \
  API int function(device_t d, unsigned *to) { ASK(d, what); *to = (unsigned)(expression); return OK; }
NUMBER(nvmlDeviceGetPowerUsage, "power", value(d->index, "power", 73) * 1000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "limit", value(d->index, "limit", 700) * 1000)
NUMBER(nvmlDeviceGetPowerManagementLimit, "limit", value(d->index, "limit", 700) * 1000)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mode", SLICES)
NUMBER(nvmlDeviceGetPersistenceMode, "mode", 1)
NUMBER(nvmlDeviceGetComputeMode, "mode", 0)
NUMBER(nvmlDeviceGetDisplayActive, "mode", 0)
NUMBER(nvmlDeviceGetDisplayMode, "mode", 0)
NUMBER(nvmlDeviceGetPerformanceState, "mode", 0)
API int nvmlDeviceGetFanSpeed(device_t d, unsigned *to) { (void)to; ASK(d, "fan"); return NOT_SUPPORTED; }

API int nvmlDeviceGetTemperature(device_t d, int sensor, unsigned *to) {
  ASK(d, "temp");
  if (sensor != 0) return INVALID;
  *to = (unsigned)value(d->index, "temp", 37);
  return OK;
}
struct temperature { unsigned version, sensor; int celsius; };
API int nvmlDeviceGetTemperatureV(device_t d, struct temperature *to) {
  ASK(d, "temp_v");
  to->celsius = (int)value(d->index, "temp", 37);
  return OK;
}
API int nvmlDeviceGetClockInfo(device_t d, int which, unsigned *to) {
  ASK(d, "clock");
  *to = which == 2 ? 2619 : (unsigned)value(d->index, "clock", 345);
  return OK;
}
API int nvmlDeviceGetMaxClockInfo(device_t d, int which, unsigned *to) { ASK(d, "clock"); *to = which == 2 ? 2619 : 1980; return OK; }
API int nvmlDeviceGetCurrentClocksEventReasons(device_t d, unsigned long long *to) {
  ASK(d, "reasons");
  *to = (unsigned long long)value(d->index, "reasons", 1);
  return OK;
}

/* As slow as the real one (20.97 ms measured), so that a poll that asks for it is noticed. */
API int nvmlDeviceGetPcieThroughput(device_t d, int counter, unsigned *to) {
  (void)counter;
  ASK(d, "pcie");
  sleep_ms(21);
  *to = 1267;
  return OK;
}

/* ---- MIG ------------------------------------------------------------------------------------------------------ */

API int nvmlDeviceGetMigMode(device_t d, unsigned *current, unsigned *pending) {
  ASK(d, "mig");
  *current = *pending = value(d->index, "mig", 0) > 0;
  return OK;
}
API int nvmlDeviceIsMigDeviceHandle(device_t d, unsigned *to) { UP(); *to = is_slice(d); return OK; }
API int nvmlDeviceGetMigDeviceHandleByIndex(device_t d, unsigned slot, device_t *slice) {
  ASK(d, "mode");
  if (slot >= SLICES) return INVALID;
  if (slot >= (unsigned)value(d->index, "mig", 0)) return NOT_FOUND;
  *slice = &slices[d->index][slot];
  return OK;
}
API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device_t slice, device_t *d) { UP(); *d = &gpus[slice->index]; return OK; }
API int nvmlDeviceGetGpuInstanceId(device_t d, unsigned *to) { ASK(d, "instance"); if (!is_slice(d)) return NOT_SUPPORTED; *to = 7 + d->slot; return OK; }
API int nvmlDeviceGetComputeInstanceId(device_t d, unsigned *to) { ASK(d, "instance"); if (!is_slice(d)) return NOT_SUPPORTED; *to = 0; return OK; }

/* ---- processes ------------------------------------------------------------------------------------------------ */

struct process { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; };

API int nvmlDeviceGetComputeRunningProcesses_v3(device_t d, unsigned *count, struct process *to) {
  unsigned found = 0, room = *count;
  ASK(d, "procs");
  for (int i = 0; i < setting_count && !is_slice(d); i++) {
    if (!concerns(&settings[i], d->index, "pid")) continue;
    if (to && found < room) {
      char *rest = settings[i].more;
      unsigned long long used = *rest ? strtoull(rest, &rest, 0) : 1716;
      unsigned instance = *rest ? (unsigned)strtoul(rest, 0, 0) : ~0u;
      /* 2^64 - 1 is NVML's "not available". */
      to[found] = (struct process){(unsigned)strtoul(settings[i].value, 0, 0), used == ~0ULL ? used : used * MIB, instance, instance == ~0u ? ~0u : 0};
    }
    found++;
  }
  *count = found;
  return found > (to ? room : 0) ? TOO_SMALL : OK;
}
API int nvmlDeviceGetGraphicsRunningProcesses_v3(device_t d, unsigned *count, struct process *to) { (void)to; ASK(d, "graphics"); *count = 0; return OK; }

/* ---- what other monitors ask for ------------------------------------------------------------------------------ */

API int nvmlDeviceGetEncoderUtilization(device_t d, unsigned *to, unsigned *period) { ASK(d, "codec"); *to = 0, *period = 100; return OK; }
API int nvmlDeviceGetDecoderUtilization(device_t d, unsigned *to, unsigned *period) { ASK(d, "codec"); *to = 0, *period = 100; return OK; }
API int nvmlDeviceGetTotalEccErrors(device_t d, int type, int counter, unsigned long long *to) { (void)type; (void)counter; ASK(d, "ecc"); *to = 0; return OK; }
API int nvmlDeviceGetProcessUtilization(device_t d, void *to, unsigned *count, unsigned long long since) { (void)to; (void)since; ASK(d, "procutil"); *count = 0; return NOT_FOUND; }
API int nvmlDeviceGetDriverModel_v2(device_t d, unsigned *current, unsigned *pending) { (void)current; (void)pending; ASK(d, "mode"); return NOT_SUPPORTED; }
API int nvmlDeviceGetDriverModel(device_t d, unsigned *current, unsigned *pending) { return nvmlDeviceGetDriverModel_v2(d, current, pending); }
struct field { unsigned id, scope; int64_t time, latency; unsigned type; int code; unsigned long long value; };
API int nvmlDeviceGetFieldValues(device_t d, int count, struct field *to) {
  ASK(d, "fields");
  for (int i = 0; i < count; i++) to[i].code = NOT_SUPPORTED;
  return OK;
}
API int nvmlDeviceGetNvLinkState(device_t d, unsigned link, unsigned *to) { ASK(d, "nvlink"); if (link > 17) return INVALID; *to = 1; return OK; }
API int nvmlDeviceGetTopologyCommonAncestor(device_t a, device_t b, unsigned *level) { (void)a; (void)b; UP(); *level = 50; return OK; }
