#!/usr/bin/env python3
"""How long a lock is out of service when its holder's node is killed for good.

Three node processes on the loopback share a lock. The node of the holder gets SIGKILL, and the time until a client at
another node has the lock is taken. The killed node is started again before the next round.

    contrib/measure-kills.py target/release/meshlock                       50 kills with a standing of 10 s: 12 minutes
    contrib/measure-kills.py target/release/meshlock --standing 8s --kills 10
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time

NAMES = ["ann", "bob", "cy"]


class Mesh:
    def __init__(self, program, place, standing, port):
        self.program, self.place, self.port = program, place, port
        self.nodes = {}
        self.run("mesh", "init", "hall", "--node", NAMES[0], "--dir", NAMES[0], "--standing", standing)
        for name in NAMES[1:]:
            invitation = self.run("mesh", "invite", name, "--dir", NAMES[0]).strip()
            self.run("mesh", "join", invitation, "--dir", name)
        for name in NAMES:
            self.start(name)

    def run(self, *words):
        ran = subprocess.run([self.program, *words], cwd=self.place, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"meshlock {' '.join(words[:2])}: {ran.stderr}")
        return ran.stdout

    def address(self, name):
        return f"127.0.0.1:{self.port + NAMES.index(name)}"

    def socket(self, name):
        return f"{self.place}/{name}.sock"

    def start(self, name):
        peers = [word for other in NAMES if other != name for word in ("--peer", self.address(other))]
        words = ["node", "--dir", name, "--socket", self.socket(name), "--listen", self.address(name), "--no-discovery"]
        log = open(f"{self.place}/{name}.log", "a")
        self.nodes[name] = subprocess.Popen([self.program, *words, *peers], cwd=self.place, stdout=log, stderr=log)

    def kill(self, name):
        self.nodes[name].kill()
        self.nodes[name].wait()

    def lock(self, name, *command):
        words = [self.program, "lock", "--socket", self.socket(name), "dock", "--", *command]
        # A group of its own, so that the command ends with it.
        return subprocess.Popen(words, cwd=self.place, stderr=subprocess.DEVNULL, start_new_session=True)

    def until(self, name, condition):
        while True:
            words = [self.program, "status", "--socket", self.socket(name), "--json"]
            said = subprocess.run(words, capture_output=True, text=True).stdout
            if said and condition(json.loads(said)):
                return
            time.sleep(0.05)

    def end(self):
        for node in self.nodes.values():
            node.kill()
            node.wait()


def all_grant(status):
    return len(status["nodes"]) == len(NAMES) and "suspended" not in status.get("recovery", {"suspended": True})


def is_held(status):
    return any(resource["name"] == "dock" and resource["holders"] for resource in status["resources"])


def is_awaited(status):
    return any(resource["name"] == "dock" and resource["waiters"] for resource in status["resources"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program meshlock")
    parser.add_argument("--standing", default="10s")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--port", type=int, default=7451, help="the first of three")
    args = parser.parse_args()
    times = []
    with tempfile.TemporaryDirectory(prefix="meshlock-kills-") as place:
        mesh = Mesh(os.path.abspath(args.program), place, args.standing, args.port)
        try:
            for number in range(args.kills):
                victim, other = NAMES[number % 3], NAMES[(number + 1) % 3]
                for name in NAMES:
                    mesh.until(name, all_grant)
                holder = mesh.lock(victim, "sleep", "600")
                mesh.until(other, is_held)
                waiter = mesh.lock(other, "true")
                mesh.until(other, is_awaited)
                began = time.monotonic()
                mesh.kill(victim)
                if waiter.wait() != 0:
                    raise SystemExit(f"the waiter ended with {waiter.returncode}")
                times.append(time.monotonic() - began)
                print(f"{number + 1:3} {victim:4} {times[-1]:6.2f} s", flush=True)
                os.killpg(holder.pid, signal.SIGKILL)
                holder.wait()
                mesh.start(victim)
        finally:
            mesh.end()
    times.sort()
    worst = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{len(times)} kills, standing {args.standing}: median {statistics.median(times):.2f} s, 99 % {worst:.2f} s")


if __name__ == "__main__":
    main()
