"""A measurement on request (tools/benchmarks/server.hpp): build() returns what is timed."""
import sys
import time


def status(name):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def serve(build):
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass
    print("ready", status("VmRSS"), flush=True)
    work = build()
    for line in sys.stdin:
        line = line.strip()
        if line == "memory":
            print(status("VmHWM"), flush=True)
            continue
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        print(" ".join("%.9f" % t for t in times), flush=True)
