#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random commands against ten VMs under load, each compared with a model of what it must have done.

soak.py VHOSTCTL VMM MINUTES [SEED]

The model is compared with what the kernel tells the VM itself ("values" of the fixture), with what vhostctl
shows, and with the threads and files that the VM has. Ends with the first divergence, or after MINUTES.
"""
import json
import os
import random
import re
import subprocess
import sys
import time

TARGET = "/sys/kernel/config/target"
VMS = 10
QUEUES = 2  # request queues of a scsi device


def say(words):
    print("# " + words, flush=True)


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


class Divergence(Exception):
    pass


def rx_frames(tap):
    """As ethtool says; that of Debian 12 has no JSON for -c."""
    said = subprocess.run(["ethtool", "-c", tap], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"^rx-frames:\s*(\d+)$", said, re.MULTILINE).group(1))


def expect(what, got, want):
    if got != want:
        raise Divergence(f"{what}: {got!r}, and not {want!r}")


class Disk:
    """A ramdisk behind the vhost fabric."""

    def __init__(self, number):
        self.name = f"naa.60014050007{number:05x}"[:20]
        self.store = f"{TARGET}/core/rd_mcp_{70 + number}/soak{number}"
        tpgt = f"{TARGET}/vhost/{self.name}/tpgt_1"
        os.makedirs(self.store)
        write(self.store + "/control", "rd_pages=64")
        write(self.store + "/enable", "1")
        os.makedirs(tpgt + "/lun/lun_0")
        write(tpgt + "/nexus", f"naa.60014059997{number:05x}"[:20])
        os.symlink(self.store, tpgt + "/lun/lun_0/disk")


class Vm:
    """One fixture: what it is, and what the model knows of it."""

    def __init__(self, program, number):
        self.program = program
        self.name = f"soak{number}"
        self.nics = 1 + number % 2
        self.disk = Disk(number) if number % 3 == 0 else None
        self.taps = [f"s{number}t{i}" for i in range(self.nics)]
        self.frames = {}
        for tap in self.taps:
            subprocess.run(["ip", "tuntap", "add", tap, "mode", "tap", "vnet_hdr"], check=True)
            subprocess.run(["ip", "link", "set", tap, "up"], check=True)
            self.frames[tap] = 0
        self.process = None
        self.start()

    def start(self):
        args = [self.program, "--name", self.name, "--vcpus", "1", "--helpers", "2"]
        for tap in self.taps:
            args += ["--tap", tap]
        if self.disk:
            args += ["--scsi", self.disk.name, "--scsi-queues", str(QUEUES)]
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = json.loads(self.process.stdout.readline())["pid"]
        self.busyloop = {f"net{i}": [0, 0] for i in range(self.nics)}
        self.workers = {0} if self.disk else set()
        self.attached = [0] * (QUEUES + 2) if self.disk else []
        self.ask("load on 50")
        self.files = len(os.listdir(f"/proc/{self.pid}/fd"))
        self.other_threads = self.threads() - len(self.workers)

    def restart(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def threads(self):
        """Those of the VM's process; before 6.4 workers are none of them."""
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def check(self):
        values = self.ask("values")
        for device, usecs in self.busyloop.items():
            expect(f"{self.name}/{device}", values[device], usecs)
        if self.disk and values["scsi0"][0] is not None:
            expect(f"workers of {self.name}", values["scsi0"], self.attached)
        expect(f"files of {self.name}", len(os.listdir(f"/proc/{self.pid}/fd")), self.files)
        for _ in range(100):
            if self.threads() == self.other_threads + len(self.workers):
                break
            time.sleep(0.1)
        expect(f"threads of {self.name}", self.threads(), self.other_threads + len(self.workers))
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{tid}/status", encoding="utf-8", errors="replace") as f:
                    fields = dict(line.split(":\t", 1) for line in f if ":\t" in line)
            except (FileNotFoundError, ProcessLookupError):
                continue
            expect(f"tracer of {self.name}", fields["TracerPid"].strip(), "0")
            if fields["State"][0] in "tT":
                raise Divergence(f"thread {tid} of {self.name} is stopped")


class Soak:
    def __init__(self, vhostctl, vmm, seed):
        self.vhostctl = vhostctl
        self.random = random.Random(seed)
        self.vms = [Vm(vmm, i) for i in range(VMS)]
        self.has_workers = self.vms[0].ask("values")["scsi0"][0] is not None
        if not self.has_workers:  # kernel threads: none of the VM's
            for vm in self.vms:
                vm.other_threads = vm.threads()
                vm.workers = set()
        self.count = {}

    def ctl(self, *args, want=(0,)):
        """Runs a command; its document, or None where it failed as it had to."""
        for _ in range(10):
            done = subprocess.run([self.vhostctl, *args], capture_output=True, text=True, timeout=120)
            # A VM whose threads are all busy is one to be asked again, as the message says.
            if done.returncode != 1 or "try again" not in done.stderr:
                break
            self.count["tried again"] = self.count.get("tried again", 0) + 1
            time.sleep(0.2)
        self.last = f"{' '.join(args)}: status {done.returncode}, {done.stdout[:600]}{done.stderr[:600]}"
        if done.returncode not in want:
            raise Divergence(f"status {done.returncode}, and not one of {want}")
        if done.returncode:
            expect("stdout of a failure", done.stdout, "")
            expect("lines of its error", done.stderr.count("\n"), 1)
            return None
        return json.loads(done.stdout)

    # ---- commands ----

    def busyloop_set(self, vm):
        usecs = self.random.choice([0, 1, 33, 50, 9999])
        device = f"net{self.random.randrange(vm.nics)}"
        queue = self.random.choice(["", "/rx", "/tx", "/0-1"])
        dry = ["--dry-run"] if self.random.random() < 0.2 else []
        doc = self.ctl("busyloop", "set", f"{vm.name}/{device}{queue}", str(usecs), *dry)
        which = {"": [0, 1], "/rx": [0], "/tx": [1], "/0-1": [0, 1]}[queue]
        changed = [(q, vm.busyloop[device][q]) for q in which if vm.busyloop[device][q] != usecs]
        expect("changes", [(c["before"], c["after"], c["applied"]) for c in doc["changes"]],
               [(before, usecs, not dry) for _, before in changed])
        for q in which if not dry else []:
            vm.busyloop[device][q] = usecs

    def busyloop_whole_vm(self, vm):
        """Of the net devices: the others ignore it, and are left alone or refused as one of several is."""
        if vm.disk:
            return
        usecs = self.random.randrange(100)
        self.ctl("busyloop", "set", vm.name, str(usecs))
        vm.busyloop = {device: [usecs, usecs] for device in vm.busyloop}

    def busyloop_get(self, vm):
        source = self.random.choice([[], ["--source", "owner"]])
        doc = self.ctl("busyloop", "get", vm.name, *source)
        got = {d["id"]: [q["busyloop_usecs"] for q in d["queues"]] for d in doc["vms"][0]["devices"] if d["kind"] == "net"}
        expect("timeouts", got, vm.busyloop)

    def refused(self, vm):
        command, status = self.random.choice([
            (("busyloop", "set", vm.name, "20000"), 2), (("busyloop", "set", vm.name, "1x"), 2),
            (("busyloop", "set", vm.name + "/net7", "1"), 3), (("busyloop", "set", vm.name + "/net0/5", "1"), 3),
            (("busyloop", "get", "nobody"), 3), (("coalesce", "set", f"{vm.name}/{vm.taps[0]}", "65"), 2),
            (("coalesce", "get", vm.name + "/none"), 3), (("show", vm.name + "/"), 2), (("list", "--what"), 2),
        ])
        self.ctl(*command, want=(status,))

    def coalesce_set(self, vm):
        tap = self.random.choice(vm.taps)
        frames = self.random.choice([0, 1, 32, 64])
        self.ctl("coalesce", "set", f"{vm.name}/{tap}", str(frames))
        vm.frames[tap] = frames

    def coalesce_get(self, vm):
        doc = self.ctl("coalesce", "get", vm.name)
        expect("rx-frames", {t["ifname"]: t["rx_frames"] for t in doc["vms"][0]["taps"]}, vm.frames)

    def worker_create(self, vm):
        count = self.random.randrange(1, 3)
        doc = self.ctl("worker", "create", vm.name + "/scsi0", "--count", str(count))
        new = [c["after"] for c in doc["changes"]]
        free = [i for i in range(100) if i not in vm.workers]
        expect("ids of the new workers", new, free[:count])
        vm.workers |= set(new)

    def worker_attach(self, vm):
        worker = self.random.choice(sorted(vm.workers))
        queue = self.random.randrange(QUEUES + 2)
        self.ctl("worker", "attach", f"{vm.name}/scsi0/{queue}", str(worker))
        vm.attached[queue] = worker

    def in_use(self, vm):
        """Queues that the VMM does not use (of 130) stay with worker 0."""
        return set(vm.attached) | {0}

    def worker_free(self, vm):
        worker = self.random.choice(sorted(vm.workers) + [99])
        busy = worker in self.in_use(vm)
        self.ctl("worker", "free", vm.name + "/scsi0", str(worker), want=(3,) if worker == 99 else (1,) if busy else (0,))
        if worker != 99 and not busy:
            vm.workers.remove(worker)

    def worker_free_idle(self, vm):
        self.ctl("worker", "free", vm.name + "/scsi0", "--idle")
        vm.workers &= self.in_use(vm)

    def worker_spread(self, vm):
        """Where each queue went is told, and checked by check(); that it is even, here."""
        n = self.random.randrange(1, QUEUES + 2)
        doc = self.ctl("worker", "spread", vm.name + "/scsi0", "--workers", str(n), want=(0,) if n <= QUEUES else (2,))
        if not doc:
            return
        for c in doc["changes"]:
            if c["setting"] == "worker":
                vm.workers = vm.workers | {c["after"]} if c["after"] is not None else vm.workers - {c["before"]}
        vm.attached = vm.ask("values")["scsi0"]
        expect("queues on workers that there are", set(vm.attached) <= vm.workers, True)

    def worker_pin(self, vm):
        worker = self.random.choice(sorted(vm.workers))
        self.ctl("worker", "pin", vm.name + "/scsi0", str(worker), self.random.choice(["0", "1", "0-1"]))

    def worker_list(self, vm):
        doc = self.ctl("worker", "list", vm.name + "/scsi0")
        got = {w["id"] for w in doc["vms"][0]["devices"][0]["workers"]}
        # Only the snapshot sees those that serve no queue.
        expect("workers", got if doc["source"] == "snapshot" else got | (vm.workers - self.in_use(vm)), vm.workers)

    def show(self, vm):
        source = self.random.choice([[], ["--source", "owner"]])
        doc = self.ctl("show", vm.name, *source)
        got = {d["id"]: [q["busyloop_usecs"] for q in d["queues"]] for d in doc["vms"][0]["devices"] if d["kind"] == "net"}
        expect("timeouts", got, vm.busyloop)
        expect("rx-frames", {t["ifname"]: t["rx_frames"] for t in doc["vms"][0]["taps"]}, vm.frames)

    def list(self, _):
        doc = self.ctl("list")
        expect("VMs", sorted((v["pid"], v["name"]) for v in doc["vms"]), sorted((v.pid, v.name) for v in self.vms))

    def table(self, vm):
        done = subprocess.run([self.vhostctl, "-t", "show", vm.name], capture_output=True, text=True, timeout=120)
        if done.returncode and "try again" not in done.stderr:
            raise Divergence(f"a table: status {done.returncode}, {done.stderr}")

    def two_at_once(self, vm):
        """A reader of everything beside a writer of one."""
        with subprocess.Popen([self.vhostctl, "-q", "show", "--all"], stderr=subprocess.PIPE, text=True) as reader:
            self.busyloop_set(vm)
            err = reader.communicate(timeout=300)[1]
            # "Already traced" is what the reader may meet, and has to say.
            if reader.returncode not in (0, 1, 4):
                raise Divergence(f"a reader beside: status {reader.returncode}, {err}")

    def restart(self, vm):
        vm.restart()
        vm.other_threads = vm.threads() - len(vm.workers) if self.has_workers else vm.threads()
        if not self.has_workers:
            vm.workers = set()

    def io(self, vm):
        expect("blocks", vm.ask(f"scsi-io scsi0 {self.random.randrange(QUEUES)} 4"), {"done": 4, "error": None})

    # ---- the run ----

    def choose(self):
        common = [self.busyloop_set, self.busyloop_set, self.busyloop_get, self.refused, self.coalesce_set,
                  self.coalesce_get, self.show, self.list, self.table, self.two_at_once, self.busyloop_whole_vm]
        workers = [self.worker_create, self.worker_attach, self.worker_attach, self.worker_free, self.worker_free_idle,
                   self.worker_spread, self.worker_pin, self.worker_list, self.io]
        vm = self.random.choice(self.vms)
        if self.random.random() < 0.01:
            return self.restart, vm
        if self.has_workers and vm.disk and self.random.random() < 0.8:
            return self.random.choice(workers), vm
        return self.random.choice(common), vm

    def run(self, minutes):
        end = time.monotonic() + minutes * 60
        files = len(os.listdir("/proc/self/fd"))
        n = 0
        self.last = "nothing yet"
        while time.monotonic() < end:
            command, vm = self.choose()
            self.count[command.__name__] = self.count.get(command.__name__, 0) + 1
            command(vm)
            vm.check()
            n += 1
            if n % 25 == 0:
                for each in self.vms:
                    each.check()
                    for tap, frames in each.frames.items():
                        expect(f"rx-frames of {tap}", rx_frames(tap), frames)
        expect("processes of vhostctl left", subprocess.run(["pgrep", "-x", "vhostctl"], capture_output=True).stdout, b"")
        expect("files of this program", len(os.listdir("/proc/self/fd")), files)
        return n


def main():
    vhostctl, vmm, minutes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else str(time.time_ns())
    say(f"seed {seed}")
    soak = Soak(vhostctl, vmm, seed)
    failed = None
    try:
        n = soak.run(minutes)
        say(f"{n} commands in {minutes:g} minutes, 0 divergences: " + ", ".join(f"{k} {v}" for k, v in sorted(soak.count.items())))
    except (Divergence, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError, BrokenPipeError) as e:
        failed = e
        say(f"divergence: {type(e).__name__}: {e}")
        say(f"last command: {soak.last}")
    for vm in soak.vms:
        vm.process.kill()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
