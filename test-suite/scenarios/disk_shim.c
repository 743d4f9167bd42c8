/* Preloaded into a proxy: makes the files below a path slow, broken or full, as files in the folder
 * $DISK_SHIM say. Each holds a path prefix and is looked at on every call:
 *   slow    reads take 50 ms longer (and are never answered at once: RWF_NOWAIT finds nothing)
 *   slowwrite  writes take 100 ms longer
 *   slowsync   syncs take 200 ms longer
 *   eio     reads, writes and syncs fail with EIO
 *   enospc  writes fail with ENOSPC
 * Sockets and other files are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* The rule's prefix; 0 when there is none. Raw system calls, as open and read are what is replaced. */
static int rule(const char* name, char* prefix, size_t size) {
  char path[512];
  const char* folder = getenv("DISK_SHIM");
  if (!folder) return 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = syscall(SYS_read, fd, prefix, size - 1);
  syscall(SYS_close, fd);
  while (n > 0 && prefix[n - 1] == '\n') --n;
  prefix[n > 0 ? n : 0] = 0;
  return n > 0;
}
static int path_under(const char* name, const char* path) {
  char prefix[512];
  int saved = errno, yes = path[0] == '/' && rule(name, prefix, sizeof prefix) && strncmp(path, prefix, strlen(prefix)) == 0;
  errno = saved;
  return yes;
}
static int under(const char* name, int fd) {
  char link[64], path[512];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (n <= 0) return 0;
  path[n] = 0;
  return path_under(name, path);
}
static int fail(int code) { errno = code; return -1; }
static void wait_a_little(int times) {
  struct timespec t = {0, times * 50 * 1000 * 1000};
  nanosleep(&t, NULL);
}

#define REAL(name) static __typeof__(name)* real; if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)
#define READING(fd) do { if (under("eio", fd)) return fail(EIO); if (under("slow", fd)) wait_a_little(1); } while (0)
#define WRITING(fd) do { if (under("eio", fd)) return fail(EIO); if (under("enospc", fd)) return fail(ENOSPC); \
  if (under("slowwrite", fd)) wait_a_little(2); } while (0)

ssize_t read(int fd, void* p, size_t n) { REAL(read); READING(fd); return real(fd, p, n); }
ssize_t pread(int fd, void* p, size_t n, off_t at) { REAL(pread); READING(fd); return real(fd, p, n, at); }
ssize_t pread64(int fd, void* p, size_t n, off64_t at) { REAL(pread64); READING(fd); return real(fd, p, n, at); }
ssize_t readv(int fd, const struct iovec* v, int n) { REAL(readv); READING(fd); return real(fd, v, n); }
ssize_t preadv(int fd, const struct iovec* v, int n, off_t at) { REAL(preadv); READING(fd); return real(fd, v, n, at); }
ssize_t preadv64(int fd, const struct iovec* v, int n, off64_t at) { REAL(preadv64); READING(fd); return real(fd, v, n, at); }

/* What does not wait finds nothing in the page cache of a slow disk. */
#define READING2(fd, flags) do { if (under("eio", fd)) return fail(EIO); \
  if (under("slow", fd)) { if ((flags) & RWF_NOWAIT) return fail(EAGAIN); wait_a_little(1); } } while (0)
ssize_t preadv2(int fd, const struct iovec* v, int n, off_t at, int flags) { REAL(preadv2); READING2(fd, flags); return real(fd, v, n, at, flags); }
ssize_t preadv64v2(int fd, const struct iovec* v, int n, off64_t at, int flags) { REAL(preadv64v2); READING2(fd, flags); return real(fd, v, n, at, flags); }

/* Sent are only bytes that were read and checked before: slow disks have them in memory by then. */
ssize_t sendfile(int out, int fd, off_t* at, size_t n) { REAL(sendfile); if (under("eio", fd)) return fail(EIO); return real(out, fd, at, n); }
ssize_t sendfile64(int out, int fd, off64_t* at, size_t n) { REAL(sendfile64); if (under("eio", fd)) return fail(EIO); return real(out, fd, at, n); }

ssize_t write(int fd, const void* p, size_t n) { REAL(write); WRITING(fd); return real(fd, p, n); }
ssize_t pwrite(int fd, const void* p, size_t n, off_t at) { REAL(pwrite); WRITING(fd); return real(fd, p, n, at); }
ssize_t pwrite64(int fd, const void* p, size_t n, off64_t at) { REAL(pwrite64); WRITING(fd); return real(fd, p, n, at); }
ssize_t writev(int fd, const struct iovec* v, int n) { REAL(writev); WRITING(fd); return real(fd, v, n); }
ssize_t pwritev(int fd, const struct iovec* v, int n, off_t at) { REAL(pwritev); WRITING(fd); return real(fd, v, n, at); }
ssize_t pwritev64(int fd, const struct iovec* v, int n, off64_t at) { REAL(pwritev64); WRITING(fd); return real(fd, v, n, at); }
ssize_t pwritev2(int fd, const struct iovec* v, int n, off_t at, int flags) { REAL(pwritev2); WRITING(fd); return real(fd, v, n, at, flags); }
ssize_t pwritev64v2(int fd, const struct iovec* v, int n, off64_t at, int flags) { REAL(pwritev64v2); WRITING(fd); return real(fd, v, n, at, flags); }
int fallocate(int fd, int mode, off_t at, off_t n) { REAL(fallocate); WRITING(fd); return real(fd, mode, at, n); }
int fallocate64(int fd, int mode, off64_t at, off64_t n) { REAL(fallocate64); WRITING(fd); return real(fd, mode, at, n); }
/* These return the error instead of setting errno. */
int posix_fallocate(int fd, off_t at, off_t n) { REAL(posix_fallocate); return under("eio", fd) ? EIO : under("enospc", fd) ? ENOSPC : real(fd, at, n); }
int posix_fallocate64(int fd, off64_t at, off64_t n) { REAL(posix_fallocate64); return under("eio", fd) ? EIO : under("enospc", fd) ? ENOSPC : real(fd, at, n); }
#define SYNCING(fd) do { if (under("eio", fd)) return fail(EIO); if (under("slowsync", fd)) wait_a_little(4); } while (0)
int fsync(int fd) { REAL(fsync); SYNCING(fd); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); SYNCING(fd); return real(fd); }
int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) { REAL(sync_file_range); SYNCING(fd); return real(fd, at, n, flags); }
