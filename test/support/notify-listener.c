/* Stands where systemd does: prints, for each message that comes to the socket, whose process id the kernel says it has, and the message. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
  int listener = socket(AF_UNIX, SOCK_DGRAM, 0);
  int on = 1;
  if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) return 1;
  if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0) return 1;
  puts("listening");
  fflush(stdout);
  for (;;) {
    char text[4096];
    union {
      char bytes[CMSG_SPACE(sizeof(struct ucred))];
      struct cmsghdr aligned;
    } control;
    struct iovec piece = {.iov_base = text, .iov_len = sizeof(text)};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t length = recvmsg(listener, &message, 0);
    if (length < 0) return 1;
    int pid = 0;
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each != NULL; each = CMSG_NXTHDR(&message, each)) {
      if (each->cmsg_type != SCM_CREDENTIALS) continue;
      struct ucred sender;
      memcpy(&sender, CMSG_DATA(each), sizeof(sender));
      pid = sender.pid;
    }
    printf("%d %.*s\n", pid, (int)length, text);
    fflush(stdout);
  }
}
