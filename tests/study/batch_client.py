#!/usr/bin/env python3
"""An example of driving rehearse from another program: asks for variants of a scenario and prints the fastest.

usage: batch_client.py REHEARSE [SCENARIO]      exit status 0, or 1 where an answer is not as it must be
"""
import json
import subprocess
import sys


class Rehearse:
    """One `rehearse batch`, asked as often as wanted."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0

    def ask(self, scenario, *settings):
        self.asked += 1
        self.process.stdin.write(json.dumps({"id": self.asked, "scenario": scenario, "set": settings}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.asked
        return answer

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def main():
    rehearse = Rehearse(sys.argv[1])
    scenario = sys.argv[2] if len(sys.argv) > 2 else "7b-8xa100-dp"
    steps = {}
    for tp in (1, 2, 3, 4, 8):
        answer = rehearse.ask(scenario, "layout.dp=null", f"layout.tp={tp}")
        if "error" in answer:
            print(f"tp {tp}: {answer['error'][0]['message']} [{answer['error'][0]['code']}]")
        else:
            steps[tp] = answer["step_time_s"]
            print(f"tp {tp}: {answer['step_time_s']:.3f} s" + ("" if answer["memory"]["fits"] else ", does not fit"))
    if rehearse.close() != 0 or not steps:
        return 1
    print(f"fastest: tp {min(steps, key=steps.get)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
