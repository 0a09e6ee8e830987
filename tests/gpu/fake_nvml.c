/* Stands in for NVIDIA's management library: one GPU at one address, readings that tests know. */
#include <string.h>

static int device;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  strncpy(text, "580.95.05", length);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** handle) {
  *handle = &device;
  return strcmp(address, "0000:1B:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void* handle, unsigned kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1755 : 0;
  return handle == &device ? 0 : 2;
}
int nvmlDeviceGetMaxClockInfo(void* handle, unsigned kind, unsigned* mhz) {
  *mhz = kind == 2 ? 2619 : 0;
  return handle == &device ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  *milliwatts = 698500;
  return handle == &device ? 0 : 2;
}
int nvmlDeviceGetTemperature(void* handle, unsigned sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 64 : 0;
  return handle == &device ? 0 : 2;
}
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, unsigned* active) {
  *active = link != 3;
  return handle == &device && link < 12 ? 0 : 2;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* mask) {
  *mask = 0x1 | 0x4 | 0x40;
  return handle == &device ? 0 : 2;
}
