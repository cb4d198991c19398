"""The worker of the target `python`: calls of the package with any arguments end in a value or in an error for people.

A line on standard input is `{"target": "python", "case": {"scene": …, "calls": […]}}`; each is answered by a verdict on one
line, as the workers of the program `fuzz` do. Calls are expressions over `qs`, `np`, `system`, `q` and `u`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
import warnings

import numpy as np
import quasistep as qs

# CPU time of one call, in s.
LIMIT = 10.0
# What a call may raise: errors of the package, and Python's own for arguments that are none.
NAMED = (qs.QuasistepError, ValueError, TypeError, KeyError, IndexError, OverflowError)

last = time.process_time()


def say(verdict: dict) -> None:
    """Writes a line."""
    sys.stdout.write(json.dumps(verdict) + "\n")
    sys.stdout.flush()


def finding(kind: str, text: str) -> dict:
    """What must not be."""
    return {"kind": kind, "text": text}


def watch() -> None:
    """Ends the process when a call takes too long."""
    while True:
        time.sleep(0.1)
        if time.process_time() - last > LIMIT:
            say({"counts": {}, "finding": finding("hang", f"more than {LIMIT} CPU seconds")})
            os._exit(3)


def peak() -> int:
    """Most memory of this process, in bytes; 0 where the system does not tell."""
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            lines = [line for line in status if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return 1024 * int(lines[0].split()[1]) if lines else 0


def bits(value: object) -> object:
    """The numbers of a step, for comparison."""
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        return value[0].tobytes()
    return None


def call(expression: str, names: dict) -> tuple[str, dict | None]:
    """Evaluates a call; how it ended, and what is wrong with that."""
    global last
    last = time.process_time()
    try:
        first = bits(eval(expression, names))
        again = bits(eval(expression, names))
    except NAMED as error:
        if not str(error).strip():
            return "refused", finding("an error without words", f"{expression}: {error!r}")
        return type(error).__name__, None
    except SyntaxError:
        # only a shrunk call is none
        return "no call", None
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} in {os.path.basename(place.filename)}"
        return "raw error", finding(kind, f"{expression}: {error}")
    if first != again:
        return "value", finding("two calls differ", expression)
    return "value", None


def judge(case: dict) -> dict:
    """Makes all calls of a case."""
    counts: dict[str, int] = {}
    found = None
    try:
        system = qs.from_dict(case["scene"])
    except qs.QuasistepError:
        return {"counts": {"scene refused": 1}, "finding": None}
    names = {"qs": qs, "np": np, "system": system, "q": system.q0}
    names["u"] = system.commanded(system.q0) if len(system.commands) else np.zeros(0)
    for expression in case.get("calls", []):
        end, wrong = call(expression, names)
        counts[end] = counts.get(end, 0) + 1
        found = found or wrong
    return {"counts": counts, "finding": found}


def main() -> None:
    """Answers until the input ends."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    threading.Thread(target=watch, daemon=True).start()
    global last
    for line in sys.stdin:
        last = time.process_time()
        verdict = judge(json.loads(line)["case"])
        verdict["peak"] = peak()
        say(verdict)
        last = float("inf")


if __name__ == "__main__":
    main()
