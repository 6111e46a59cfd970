/** Messages of several kernel versions, without the record headers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type OomKill, type OomReading, readOomLine, systemOomMessage } from "./oom-kill.ts";

function kills(lines: string): readonly OomKill[] {
  const found: OomKill[] = [];
  let reading: OomReading;
  for (const line of lines.trim().split("\n")) {
    const next = readOomLine(reading, line);
    reading = next.reading;
    if (next.kill !== undefined) found.push(next.kill);
  }
  return found;
}

/** The messages, the kills in them, and the message of the node's event for each. */
const ROWS: Readonly<Record<string, readonly [string, readonly OomKill[], readonly (string | undefined)[]]>> = {
  "[1.22] Linux 6.1, OOM of the whole machine": [
    `
stress invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0
CPU: 1 PID: 4242 Comm: stress Not tainted 6.1.0-28-amd64 #1  Debian 6.1.119-1
Mem-Info:
[   4242]     0  4242   263078   262500  2134016        0             0 stress
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice/user-0.slice/session-1.scope,task=stress,pid=4242,uid=0
Out of memory: Killed process 4242 (stress) total-vm:1052312kB, anon-rss:1049868kB, file-rss:132kB, shmem-rss:0kB, UID:0 pgtables:2084kB oom_score_adj:0`,
    [{ group: "/", process: "stress", pid: 4242 }],
    ["System OOM encountered, victim process: stress, pid: 4242"],
  ],
  "[1.22] Linux 5.15, OOM at a memory cgroup's limit": [
    `
python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=936
memory: usage 65536kB, limit 65536kB, failcnt 85
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-9f1.scope,mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice,task_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-9f1.scope,task=python3,pid=31337,uid=1000
Memory cgroup out of memory: Killed process 31337 (python3) total-vm:78540kB, anon-rss:64484kB, file-rss:4608kB, shmem-rss:0kB, UID:1000 pgtables:196kB oom_score_adj:936`,
    [
      {
        group: "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice",
        process: "python3",
        pid: 31_337,
      },
    ],
    [undefined],
  ],
  "[1.22] Linux 4.19, OOM of the whole machine": [
    `
java invoked oom-killer: gfp_mask=0x6280ca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), nodemask=(null), order=0, oom_score_adj=0
java cpuset=/ mems_allowed=0
Out of memory: Kill process 1177 (java) score 803 or sacrifice child
Killed process 1177 (java) total-vm:4132208kB, anon-rss:1622136kB, file-rss:0kB, shmem-rss:0kB`,
    [{ group: "/", process: "java", pid: 1177 }],
    ["System OOM encountered, victim process: java, pid: 1177"],
  ],
  "[1.22] Linux 3.10, OOM at a memory cgroup's limit": [
    `
exe invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=1000
Task in /docker/71c1e7ab killed as a result of limit of /docker/71c1e7ab
memory: usage 8192kB, limit 8192kB, failcnt 24
Memory cgroup out of memory: Kill process 2211 (sh) score 1000 or sacrifice child
Killed process 2211 (sh) total-vm:18184kB, anon-rss:7424kB, file-rss:412kB`,
    [{ group: "/docker/71c1e7ab", process: "sh", pid: 2211 }],
    [undefined],
  ],
  "a process name with commas and parentheses": [
    `
x invoked oom-killer: gfp_mask=0xcc0
oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=0,cpuset=a,mems_allowed=0,global_oom,task_memcg=/,task=a,b (x),pid=7,uid=0`,
    [{ group: "/", process: "a,b (x)", pid: 7 }],
    ["System OOM encountered, victim process: a,b (x), pid: 7"],
  ],
  "a cgroup that is killed as a whole is reported once": [
    `
x invoked oom-killer: gfp_mask=0xcc0
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=x,pid=7,uid=0
Memory cgroup out of memory: Killed process 7 (x) total-vm:1kB
Tasks in /a are going to be killed due to memory.oom.group set
Memory cgroup out of memory: Killed process 8 (y) total-vm:1kB`,
    [{ group: "/a", process: "x", pid: 7 }],
    [undefined],
  ],
  "a kill whose last message was lost, and the next one": [
    `
a invoked oom-killer: gfp_mask=0xcc0
Task in /a killed as a result of limit of /a
b invoked oom-killer: gfp_mask=0xcc0
Out of memory: Killed process 9 (b) total-vm:1kB`,
    [{ group: "/", process: "b", pid: 9 }],
    ["System OOM encountered, victim process: b, pid: 9"],
  ],
  "other messages are ignored": ["usb 1-1: new device\nKilled process 3 (x)\noom_reaper: reaped process 3 (x)", [], []],
};

for (const [name, [lines, wanted, messages]] of Object.entries(ROWS)) {
  test(`kernel messages: ${name}`, () => {
    const found = kills(lines);
    assert.deepEqual(found, wanted);
    assert.deepEqual(found.map(systemOomMessage), messages);
  });
}

test("[1.22] a kill without a process name is reported without one", () => {
  assert.equal(systemOomMessage({ group: "/", process: "", pid: 0 }), "System OOM encountered");
});
